"""Records the truth on a machine with a CUDA GPU: JSON lines in `truth/`, one file per GPU and torch version.

    python -m benchmarks.record.truth peaks [--families vision language]   the peaks of every job
    python -m benchmarks.record.truth limits     the reruns and capacity checks of second_stage.jsonl
    python -m benchmarks.record.truth minimum    the smallest limits at which the jobs chosen there complete
    python -m benchmarks.record.truth repeats    the peaks of the jobs of repeats.txt, five times each

Every run is a new process; several run side by side as far as the GPU's memory allows. An interrupted recording
continues: what is in `truth/` or in `--folder` is not recorded again. `--deadline 480` starts nothing after 480
seconds. Needs torch and this repository; where the package is not installed, run with PYTHONPATH=src.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import datetime, timezone
from pathlib import Path

from benchmarks import job_lists
from benchmarks.json_lines import add, rows
from benchmarks.provenance import current_commit
from benchmarks.published_estimates import read_estimates
from benchmarks.record.gpu_runs import TIMEOUT_S, DeadlinePassed, Gpu
from benchmarks.repeated_jobs import RUNS, read_repeated_jobs
from benchmarks.truth_files import SECOND_STAGE, TRUTH
from veritasest.studies.minimum import smallest_that_completes

UNKNOWN_NEED = 10 << 30
MAX_TRIALS = 64  # more than any bisection of 64-bit sizes takes
FACTS = (
    "import torch, json; p = torch.cuda.get_device_properties(0); print(json.dumps({'gpu': p.name, "
    "'total_bytes': torch.cuda.mem_get_info()[1], 'torch': torch.__version__, 'cuda': torch.version.cuda, "
    "'cudnn': torch.backends.cudnn.version()}))"
)


def provenance(noted: str | None) -> dict:
    facts = json.loads(subprocess.run([sys.executable, "-c", FACTS], capture_output=True, check=True).stdout)
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    facts["driver"] = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"recording": now, "commit": current_commit(noted), "python": sys.version.split()[0], **facts}


def file_stem(facts: dict) -> str:
    """Like h200_torch2.11.0_cu130."""
    gpu = facts["gpu"].removeprefix("NVIDIA ").lower().replace(" ", "-")
    return f"{gpu}_torch{facts['torch'].replace('+', '_')}"


class Recorder:
    def __init__(self, gpu: Gpu, facts: dict, folder: Path) -> None:
        self.gpu = gpu
        self.recording = facts["recording"]
        self.stem = folder / file_stem(facts)
        self.jobs = {job.line: job for job in job_lists.read()}
        known = [*read_estimates("peaks"), *self.recorded("peaks")]
        self.needs = {row["job"]: row["reserved_bytes"] for row in known if row.get("reserved_bytes")}

    def path(self, stage: str) -> Path:
        suffix = "" if stage == "peaks" else f"_{stage}"
        return self.stem.with_name(f"{self.stem.name}{suffix}.jsonl")

    def recorded(self, stage: str) -> list[dict]:
        """What is in the folder, and in `truth/` where that is another one."""
        path = self.path(stage)
        return [row for file in sorted({path, TRUTH / path.name}) for row in rows(file)]

    def need(self, line: str) -> int:
        return self.needs.get(line, UNKNOWN_NEED)

    def peaks(self, families: list[str] | None) -> Iterator[Callable[[], dict]]:
        done = {row["job"] for row in self.recorded("peaks")}
        todo = [job for job in job_lists.read(families) if job.line not in done]
        for job in sorted(todo, key=lambda job: self.need(job.line), reverse=True):
            yield lambda job=job: {"job": job.line, **self._peaks(job)}

    def _peaks(self, job: job_lists.Job) -> dict:
        need = self.need(job.line)
        row = self.gpu.run(job, need)
        had_pressure = row.get("out_of_memory") or row.get("allocator_retries")
        if had_pressure and not (row["completed"] and row.get("reserved_bytes", need) < need):
            # Perhaps because of other jobs: once more with the GPU to itself. A job that completed with less
            # than its share has set a limit of its own.
            row = self.gpu.run(job, self.gpu.total_bytes)
        return row

    def repeats(self, _families: list[str] | None) -> Iterator[Callable[[], dict]]:
        """All jobs once, then all of them again, so that an interrupted recording has as many runs of each."""
        done = {(row["job"], row["run"]) for row in self.recorded("repeats")}
        for run in range(1, RUNS + 1):
            for line in read_repeated_jobs():
                if (line, run) not in done:
                    yield lambda line=line, run=run: {"job": line, "run": run, **self._peaks(self.jobs[line])}

    def limits(self, _families: list[str] | None) -> Iterator[Callable[[], dict]]:
        done = {(row["job"], row["limit_bytes"], row["why"]) for row in self.recorded("limits")}
        for check in rows(SECOND_STAGE):
            known = (check["job"], check.get("limit_bytes"), check["why"])
            if known[1] is not None and known not in done:  # a job without an estimate has no limit yet
                yield lambda check=check: {**check, **self._limited(check["job"], check["limit_bytes"])}

    def _limited(self, line: str, limit_bytes: int) -> dict:
        return self.gpu.run(self.jobs[line], min(self.need(line), limit_bytes), limit_bytes)

    def minimum(self, _families: list[str] | None) -> Iterator[Callable[[], dict]]:
        done = {row["job"] for row in self.recorded("minimum")}
        known = {row["job"]: row for row in self.recorded("peaks")}
        for check in rows(SECOND_STAGE):
            if check["why"] == "minimum" and check["job"] not in done:
                yield lambda line=check["job"]: self._minimum(line, known[line])

    def _minimum(self, line: str, peak: dict) -> dict:
        trials = []

        def completes(limit_bytes: int) -> bool:
            row = self._limited(line, limit_bytes)
            trials.append([limit_bytes, row["completed"]])
            return row["completed"]

        low, high = peak["allocated_bytes"], peak["reserved_bytes"]
        # The steps of `--minimum`, without its limit on the number of runs.
        least = smallest_that_completes(fails_bytes=low, completes_bytes=high, completes=completes, max_runs=MAX_TRIALS)
        failed = max((limit_bytes for limit_bytes, completed in trials if not completed), default=low)
        return {"job": line, "minimum_bytes": least, "failed_bytes": failed, "trials": trials}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["peaks", "limits", "minimum", "repeats"])
    parser.add_argument("--families", nargs="+", metavar="NAME", help="only these lists of jobs/")
    parser.add_argument("--parallel", type=int, default=8, help="jobs at a time, memory permitting")
    parser.add_argument("--deadline", type=float, metavar="SECONDS", help="start no run after this time")
    parser.add_argument("--timeout", type=float, default=TIMEOUT_S, metavar="SECONDS", help="of one run")
    parser.add_argument(
        "--folder", type=Path, default=TRUTH, help="where the files go; benchmarks.record.merge adds them to truth/"
    )
    parser.add_argument("--commit", help="what to note as the commit, where git cannot say")
    return parser.parse_args()


def main() -> int:
    chosen = options()
    facts = provenance(chosen.commit)
    gpu = Gpu(facts["total_bytes"], deadline_s=chosen.deadline, timeout_s=chosen.timeout)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(gpu, facts, chosen.folder)
    tasks = list(getattr(recorder, chosen.stage)(chosen.families))
    path = recorder.path(chosen.stage)
    if tasks:
        add(path, {**facts, "stage": chosen.stage})
    left = 0
    with ThreadPoolExecutor(chosen.parallel) as pool:
        for number, done in enumerate(as_completed([pool.submit(task) for task in tasks]), 1):
            try:
                row = {**done.result(), "recording": facts["recording"]}
            except DeadlinePassed:
                left += 1
                continue
            add(path, row)
            print(f"{number}/{len(tasks)} {row['job']} {row.get('error', '')}", flush=True)
    gpu.close()
    print(f"{len(tasks) - left} recorded, {left} left", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
