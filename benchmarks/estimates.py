"""Estimates every job of `jobs/*.txt` on this machine, without a GPU. Goes on where it was interrupted.

python benchmarks/estimates.py                     the peaks of all jobs: results/estimates.jsonl
python benchmarks/estimates.py --kind default      the same with the options a user types: no --until-exit
python benchmarks/estimates.py --kind minimum      the smallest capacity, for the jobs second_stage.jsonl names
python benchmarks/estimates.py --kind capacity     the verdict at the capacities it names
python benchmarks/estimates.py --kind real         the jobs that values steer, with --values real
python benchmarks/estimates.py --kind alone        a sample, one at a time, for the seconds it takes
"""

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from fnmatch import fnmatch

import joblists
from estimating import run_estimate
from repeats import read_repeats
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from store import Store
from truth_files import RESULTS, SECOND_STAGE, rows

KINDS = ("peaks", "default", "minimum", "capacity", "real", "alone")
ALONE = 40  # jobs of that sample
STEERED = ["steered", "steered_unseen"]


@dataclass(frozen=True)
class Task:
    job: joblists.Job
    options: tuple[str, ...] = ()
    capacity_gib: int | None = None
    until_exit: bool = True

    @property
    def key(self) -> tuple:
        return (self.job.line, self.capacity_gib)


def tasks(kind: str, families: list[str] | None) -> list[Task]:
    jobs = {job.line: job for job in joblists.read(families)}
    if kind == "peaks":
        return [Task(job) for job in jobs.values()]
    if kind == "default":
        return [Task(job, until_exit=False) for job in jobs.values()]
    if kind == "real":
        return [Task(job, ("--values", "real")) for job in jobs.values() if job.family in STEERED]
    if kind == "alone":
        return [Task(job) for job in joblists.drawn(jobs.values())[:ALONE]]
    chosen = [row for row in rows(SECOND_STAGE) if row["why"] == kind and row["job"] in jobs]
    if kind == "minimum":
        return [Task(jobs[row["job"]], ("--minimum",)) for row in chosen]
    sizes = [(row["job"], row["capacity_gib"]) for row in chosen]
    return [Task(jobs[line], ("--memory", f"{gib}GiB"), gib) for line, gib in sizes]


def life(estimate: dict) -> dict:
    """What was seen of the job, and how far the GPU itself may move it; builds that do not say so have none."""
    needs = estimate["needs"]
    return {
        "steps": estimate["steps"],
        "observed": estimate.get("observed"),
        "not_reached": estimate.get("not_reached"),
        "timing_range_bytes": needs.get("timing_range_bytes"),
        "address_range_bytes": needs.get("address_range_bytes"),
        "warnings": len(estimate["warnings"]),
    }


def measure(task: Task) -> dict:
    start = time.monotonic()
    named = {"job": task.job.line, "capacity_gib": task.capacity_gib}
    try:
        estimate = run_estimate(task.job, *task.options, until_exit=task.until_exit)
    except RuntimeError as error:
        return {**named, "verdict": "no answer", "error": str(error)[-500:]}
    seconds = round(time.monotonic() - start, 2)
    done = estimate["needs"]["comfortable_bytes"]
    row = {
        **named,
        "verdict": estimate["verdict"],
        "allocated_bytes": estimate["peak"]["allocated_bytes"] if done else None,
        "reserved_bytes": done,
        "process_bytes": estimate["needs"]["process_bytes"],
        "minimum_bytes": estimate["needs"]["minimum_bytes"],
        "available_bytes": estimate["gpu"]["available_bytes"],
        "range_bytes": estimate["needs"]["comfortable_range_bytes"],
        "assumed_range_bytes": estimate["needs"]["assumed_range_bytes"],
        "assumed": len(estimate["assumed"]),
        "not_modelled": sorted({f"{item['library']}:{item['name']}" for item in estimate["not_modelled"]}),
        **life(estimate),
        "runs": len(estimate["runs"]),
        "seconds": seconds,
        "host_bytes": max((run["host_peak_bytes"] or 0 for run in estimate["runs"]), default=None),
    }
    if estimate["failure"] and estimate["verdict"] != "does_not_fit":
        row["error"] = str(estimate["failure"]["message"])[-300:]
    return row


def measure_all(todo: list[Task], store: Store, parallel: int) -> None:
    columns = [TextColumn("{task.description:60.60}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        left = [task for task in todo if not store.is_done(task.key)]
        bar = progress.add_task("", total=len(todo), completed=len(todo) - len(left))
        with ThreadPoolExecutor(parallel) as pool:
            for done in as_completed([pool.submit(measure, task) for task in left]):
                store.add(done.result())
                progress.update(bar, description=done.result()["job"])
                progress.advance(bar)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=KINDS, default="peaks")
    parser.add_argument("--families", nargs="+", metavar="NAME", choices=joblists.families(), help="lists of jobs/")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="jobs like '*vgg*adam *'")
    parser.add_argument("--repeats", action="store_true", help="only the jobs of repeats.txt")
    parser.add_argument("--drawn", type=int, metavar="N", help="only N of them, drawn by a hash of the job's line")
    parser.add_argument("--parallel", type=int, default=os.cpu_count(), metavar="N", help="estimates at a time")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--keep", action="store_true", help="take results of other builds for good, instead of anew")
    args = parser.parse_args()
    todo = [task for task in tasks(args.kind, args.families) if fnmatch(task.job.line, args.only)]
    if args.repeats:
        todo = [task for task in todo if task.job.line in read_repeats()]
    if args.drawn is not None:
        chosen = {job.line for job in joblists.drawn(task.job for task in todo)[: args.drawn]}
        todo = [task for task in todo if task.job.line in chosen]
    if not todo:
        print(f"no job matches: --kind {args.kind} --families {args.families} --only {args.only!r}", file=sys.stderr)
        return 2
    name = "estimates" if args.kind == "peaks" else f"estimates_{args.kind}"
    store = Store(RESULTS / f"{name}.jsonl", ("job", "capacity_gib"), fresh=args.fresh, keep=args.keep)
    measure_all(todo, store, 1 if args.kind == "alone" else args.parallel)
    failed = [task.job.line for task in todo if store.rows[task.key]["verdict"] not in ("fits", "does_not_fit")]
    for line in failed:
        print(f"not estimated: {line}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
