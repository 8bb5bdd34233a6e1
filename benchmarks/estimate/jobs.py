"""Estimates the recorded jobs on this machine, without a GPU, and continues where it was interrupted.

    python -m benchmarks.estimate.jobs --kind KIND [--workers N] [--deadline SECONDS] [--output FILE]

Each finished estimate is a line of the output file, build/estimates/KIND.jsonl unless `--output` names another;
what this build has estimated already is not repeated. The jobs that took longest in the published results start
first. A tree with uncommitted changes is refused, since its results cannot be published (`--allow-dirty` to try
something out); without a git checkout, `--commit` or BENCHMARK_COMMIT names the commit.
`benchmarks.estimate.compare` and `benchmarks.estimate.publish` take the output file. Kinds:

"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatch
from pathlib import Path

from benchmarks import job_lists, provenance
from benchmarks.estimate import fields
from benchmarks.estimate.one_job import run_estimate
from benchmarks.estimate.results_file import ResultsFile
from benchmarks.estimate.tasks import KIND_HELP, Task, tasks_of
from benchmarks.published_estimates import KINDS, read_estimates
from benchmarks.truth_files import ROOT

OUTPUT = ROOT / "build" / "estimates"
NO_ANSWER = "no answer"  # as a verdict: `veritasest run` itself broke off


def estimate(task: Task) -> dict:
    """The result row of one task."""
    start = time.monotonic()
    named = {"job": task.job.line, "capacity_gib": task.capacity_gib}
    try:
        found = run_estimate(task.job, *task.options, until_exit=task.until_exit)
    except RuntimeError as error:
        return {**named, "verdict": NO_ANSWER, "error": str(error)[-500:]}
    return {**named, **fields.result_row(found, round(time.monotonic() - start, 2))}


def longest_first(todo: Sequence[Task], seconds: dict[tuple, float]) -> list[Task]:
    """By the seconds of earlier estimates; tasks without one come first."""
    return sorted(todo, key=lambda task: -seconds.get(task.key, math.inf))


def estimate_all(todo: Sequence[Task], results: ResultsFile, workers: int, deadline_s: float) -> int:
    """How many were left, because the deadline had passed before they could start."""
    last_start = time.monotonic() + deadline_s
    open_tasks = [task for task in todo if not results.is_done(task.key)]
    done, left = len(todo) - len(open_tasks), 0

    def start(task: Task) -> dict | None:
        return estimate(task) if time.monotonic() < last_start else None

    with ThreadPoolExecutor(workers) as pool:
        for finished in as_completed([pool.submit(start, task) for task in open_tasks]):
            row = finished.result()
            if row is None:
                left += 1
                continue
            results.add(row)
            done += 1
            print(f"{done}/{len(todo)} {row['verdict']} {row.get('seconds', '-')} s {row['job']}", flush=True)
    return left


def read_job_lines(path: Path) -> set[str]:
    """Job lines of a file like benchmarks/repeats.txt: comments and section names are left out."""
    return {line for line in path.read_text().splitlines() if line and line[0] not in "#["}


def chosen_tasks(args: argparse.Namespace) -> list[Task]:
    published = {ResultsFile.key(row): row for row in read_estimates(args.kind)}
    todo = [task for task in tasks_of(args.kind, args.families) if fnmatch(task.job.line, args.only)]
    if args.jobs is not None:
        named = read_job_lines(args.jobs)
        todo = [task for task in todo if task.job.line in named]
    if args.published:
        todo = [task for task in todo if task.key in published]
    seconds = {key: row["seconds"] for key, row in published.items() if row.get("seconds")}
    return longest_first([task for task in todo if seconds.get(task.key, 0) <= args.longest], seconds)


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__ + KIND_HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=KINDS, default="peaks")
    choice = parser.add_argument_group("which jobs (all of the kind by default)")
    choice.add_argument("--families", nargs="+", metavar="NAME", choices=job_lists.families(), help="job lists")
    choice.add_argument("--only", metavar="PATTERN", default="*", help="jobs like '*vgg*adam *'")
    choice.add_argument("--jobs", type=Path, metavar="FILE", help="jobs named in FILE, one per line")
    choice.add_argument("--longest", type=float, default=math.inf, metavar="SECONDS", help="no slower before")
    choice.add_argument("--published", action="store_true", help="jobs with a published estimate of this kind")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N", help="estimates at a time")
    parser.add_argument(
        "--deadline", type=float, default=math.inf, metavar="SECONDS", help="start none after this time"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="build/estimates/KIND.jsonl by default")
    parser.add_argument("--commit", help="the commit of the installed package, where git cannot say")
    parser.add_argument("--allow-dirty", action="store_true", help="estimate with uncommitted changes")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    args = options(argv)
    commit = provenance.current_commit(args.commit)
    if not (provenance.is_clean(commit) or args.allow_dirty):
        print(f"not a clean commit: {commit}; commit first, name it by --commit, or use --allow-dirty", file=sys.stderr)
        return 2
    todo = chosen_tasks(args)
    if not todo:
        print(f"no job of kind {args.kind} matches the options", file=sys.stderr)
        return 2
    output = args.output or OUTPUT / f"{args.kind}.jsonl"
    results = ResultsFile(output, args.kind, provenance.estimate_provenance(commit))
    left = estimate_all(todo, results, 1 if args.kind == "alone" else args.workers, args.deadline)
    failed = [task.job.line for task in todo if results.is_done(task.key) and not has_verdict(results.rows[task.key])]
    for line in failed:
        print(f"not estimated: {line}", file=sys.stderr)
    print(f"{len(todo) - left} of {len(todo)} are in {output}, {len(failed)} of them without a verdict; {left} left")
    return 0


def has_verdict(row: dict) -> bool:
    return row["verdict"] in ("fits", "does_not_fit")


if __name__ == "__main__":
    sys.exit(main())
