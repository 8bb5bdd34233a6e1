"""Records the truth on a machine with a CUDA GPU: JSON lines in `truth/`, one file a GPU and torch version.

    python benchmarks/record_gpu.py peaks [--families vision language]   the peaks of every job
    python benchmarks/record_gpu.py limits       the reruns and capacity checks of second_stage.jsonl
    python benchmarks/record_gpu.py minimum      the smallest limits at which the jobs chosen there complete

Every run is a fresh process, several side by side as far as the GPU's memory goes. Goes on where it was interrupted.
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

import joblists
from bisection import smallest_that_completes
from gpu_runs import Gpu
from truth_files import RESULTS, SECOND_STAGE, TRUTH, add, commit, rows

UNKNOWN_NEED = 10 << 30
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
    return {"recording": now, "commit": noted or commit(), "python": sys.version.split()[0], **facts}


def file_stem(facts: dict) -> str:
    """Like h200_torch2.11.0_cu130."""
    gpu = facts["gpu"].removeprefix("NVIDIA ").lower().replace(" ", "-")
    return f"{gpu}_torch{facts['torch'].replace('+', '_')}"


class Recorder:
    def __init__(self, gpu: Gpu, facts: dict, folder: Path) -> None:
        self.gpu = gpu
        self.recording = facts["recording"]
        self.stem = folder / file_stem(facts)
        self.jobs = {job.line: job for job in joblists.read()}
        known = [*rows(RESULTS / "estimates.jsonl"), *rows(self.path("peaks"))]
        self.needs = {row["job"]: row["reserved_bytes"] for row in known if row.get("reserved_bytes")}

    def path(self, stage: str) -> Path:
        suffix = "" if stage == "peaks" else f"_{stage}"
        return self.stem.with_name(f"{self.stem.name}{suffix}.jsonl")

    def need(self, line: str) -> int:
        return self.needs.get(line, UNKNOWN_NEED)

    def peaks(self, families: list[str] | None) -> Iterator[Callable[[], dict]]:
        done = {row["job"] for row in rows(self.path("peaks"))}
        todo = [job for job in joblists.read(families) if job.line not in done]
        for job in sorted(todo, key=lambda job: self.need(job.line), reverse=True):
            yield lambda job=job: {"job": job.line, **self._peaks(job)}

    def _peaks(self, job: joblists.Job) -> dict:
        row = self.gpu.run(job, self.need(job.line))
        if row.get("out_of_memory") or row.get("allocator_retries"):
            # Pressed, perhaps only by its neighbours: once more with the GPU to itself.
            row = self.gpu.run(job, self.gpu.total_bytes)
        return row

    def limits(self, _families: list[str] | None) -> Iterator[Callable[[], dict]]:
        done = {(row["job"], row["limit_bytes"], row["why"]) for row in rows(self.path("limits"))}
        for check in rows(SECOND_STAGE):
            known = (check["job"], check.get("limit_bytes"), check["why"])
            if known[1] is not None and known not in done:  # a job without an estimate has no limit yet
                yield lambda check=check: {**check, **self._limited(check["job"], check["limit_bytes"])}

    def _limited(self, line: str, limit_bytes: int) -> dict:
        return self.gpu.run(self.jobs[line], min(self.need(line), limit_bytes), limit_bytes)

    def minimum(self, _families: list[str] | None) -> Iterator[Callable[[], dict]]:
        done = {row["job"] for row in rows(self.path("minimum"))}
        known = {row["job"]: row for row in rows(self.path("peaks"))}
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
        failed, least = smallest_that_completes(low, high, completes)
        return {"job": line, "minimum_bytes": least, "failed_bytes": failed, "trials": trials}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["peaks", "limits", "minimum"])
    parser.add_argument("--families", nargs="+", metavar="NAME", help="only these lists of jobs/")
    parser.add_argument("--parallel", type=int, default=8, help="jobs at a time, memory permitting")
    parser.add_argument("--folder", type=Path, default=TRUTH, help="where the files are, or go")
    parser.add_argument("--commit", help="what to note as the commit, where git cannot tell")
    chosen = parser.parse_args()
    facts = provenance(chosen.commit)
    gpu = Gpu(facts["total_bytes"])
    recorder = Recorder(gpu, facts, chosen.folder)
    tasks = list(getattr(recorder, chosen.stage)(chosen.families))
    path = recorder.path(chosen.stage)
    if tasks:
        add(path, {**facts, "stage": chosen.stage})
    with ThreadPoolExecutor(chosen.parallel) as pool:
        for number, done in enumerate(as_completed([pool.submit(task) for task in tasks]), 1):
            row = {**done.result(), "recording": facts["recording"]}
            add(path, row)
            print(f"{number}/{len(tasks)} {row['job']} {row.get('error', '')}", flush=True)
    gpu.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
