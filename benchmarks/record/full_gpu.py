"""Runs jobs on a GPU that another process fills up, to check the process size that their estimate reports.

    python -m benchmarks.record.full_gpu [--jobs 12]      on a machine with a CUDA GPU that is otherwise unused

Writes `truth/..._filled.jsonl`. Each job runs once with exactly the estimated process size left free, where there
should be no memory pressure, and once with `SHORT` less, where there should be. PyTorch itself has no limit: the
CUDA context and library overhead count as they do on a smaller GPU.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks import job_lists
from benchmarks.json_lines import add
from benchmarks.published_estimates import read_estimates
from benchmarks.record.gpu_runs import Gpu, had_memory_pressure
from benchmarks.record.truth import file_stem, provenance
from benchmarks.truth_files import TRUTH, peaks

SHORT = 32 << 20
LARGEST = 100 << 30

# Allocates all but the requested bytes, in the driver's units of 2 MiB, and prints what is left.
FILLER = """
import torch
held = None
for line in iter(input, ""):
    held = None
    torch.cuda.empty_cache()
    spare = torch.cuda.mem_get_info()[0] - int(line)
    held = torch.empty(spare >> 21 << 21, dtype=torch.uint8, device="cuda")
    print(torch.cuda.mem_get_info()[0], flush=True)
"""


class Filler:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", FILLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def leave(self, free_bytes: int) -> int:
        self._process.stdin.write(f"{free_bytes}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def stop(self) -> None:
        self._process.communicate("\n")


def chosen(count: int) -> list[tuple[job_lists.Job, int]]:
    """In hash order: jobs with an exact estimate, and their estimated process size."""
    estimated = {row["job"]: row for row in read_estimates("peaks")}
    recorded = peaks()
    jobs = [
        job
        for job in job_lists.in_hash_order(job_lists.read())
        if job.line in recorded.keys() & estimated.keys() and not job.variables
    ]
    same = [job for job in jobs if estimated[job.line]["reserved_bytes"] == recorded[job.line]["reserved_bytes"]]
    sizes = [(job, estimated[job.line]["process_bytes"]) for job in same]
    return [(job, size) for job, size in sizes if size and size < LARGEST][:count]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--folder", type=Path, default=TRUTH, help="where the file goes")
    parser.add_argument("--commit", help="what to note as the commit, where git cannot say")
    args = parser.parse_args()
    facts = provenance(args.commit)
    path = args.folder / f"{file_stem(facts)}_filled.jsonl"
    add(path, {**facts, "stage": "filled"})
    gpu, filler = Gpu(facts["total_bytes"]), Filler()
    for job, process_bytes in chosen(args.jobs):
        for short_bytes in (0, SHORT):
            free_bytes = filler.leave(process_bytes - short_bytes)
            row = {"job": job.line, "free_bytes": free_bytes, "short_bytes": short_bytes, **gpu.run(job, 0)}
            add(path, {**row, "recording": facts["recording"]})
            pressure = "memory pressure" if had_memory_pressure(row) else "no memory pressure"
            print(f"{pressure} with {short_bytes >> 20} MiB less: {job.line}", flush=True)
    filler.stop()
    gpu.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
