"""Chooses what the second stage checks on the GPU, among the recorded jobs, and writes second_stage.jsonl.

    python -m benchmarks.record.second_stage

Three kinds of rows, distinguished by `why`:
- estimate: run the job again with PyTorch limited to exactly the reserved bytes estimated for it;
- capacity: the verdict at the two capacities that enclose the job's need, with PyTorch limited to what the estimate
  says is available to it there;
- minimum: find the smallest limit at which the job completes.

The choice depends on a hash of the job's line alone, not on how good an estimate is.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict

from benchmarks import job_lists
from benchmarks.published_estimates import read_estimates
from benchmarks.truth_files import SECOND_STAGE, peaks

RERUNS = 170
CAPACITY_CHECKS = 160
CAPACITIES_GIB = (8, 12, 16, 24, 40, 80)
# Jobs per family. None of the value-dependent lists, where one estimate takes three runs.
MINIMUMS = {
    "papers_cnn": 14,
    "papers_transformer": 8,
    "vision": 6,
    "language": 4,
    "video": 2,
    "first": 6,
    "gan": 2,
}
# The largest errors of the first minima, 0.9 %.
LARGEST_ERRORS = (
    "resnet50 --bs 32 --opt sgd ",
    "resnext50_32x4d --bs 32 --opt adam ",
)
OTHER_BACKENDS = ("cudaMallocAsync", "NO_CUDA_MEMORY_CACHING")  # PyTorch has no limit there
OWN_LIMITS = ("batch_finder.py", "lightning_tuner.py", "--find ")  # these set the limit themselves


def enclosing(need_bytes: int) -> list[int]:
    """The largest of the capacities below the need and the smallest above it."""
    below = [gib for gib in CAPACITIES_GIB if gib << 30 < need_bytes][-1:]
    above = [gib for gib in CAPACITIES_GIB if gib << 30 >= need_bytes][:1]
    return below + above


def choose(
    jobs: list[job_lists.Job],
    peaks: dict[str, int],
    estimates: dict[str, int],
    available: dict[tuple[str, int], int | None],
) -> list[dict]:
    """For jobs in hash order; a need below the smallest capacity gives no verdict to check."""
    reruns = [{"job": job.line, "why": "estimate", "limit_bytes": estimates.get(job.line)} for job in jobs[:RERUNS]]
    checks = [
        {"job": job.line, "why": "capacity", "capacity_gib": gib, "limit_bytes": available.get((job.line, gib))}
        for job in jobs
        if peaks[job.line] > CAPACITIES_GIB[0] << 30
        for gib in enclosing(peaks[job.line])
    ]
    left = defaultdict(int, MINIMUMS)
    least = []
    for job in jobs:
        left[job.family] -= 1
        if left[job.family] >= 0 or any(words in job.line for words in LARGEST_ERRORS):
            least.append({"job": job.line, "why": "minimum"})
    return reruns + checks[:CAPACITY_CHECKS] + least


def main() -> int:
    recorded = {line: row["reserved_bytes"] for line, row in peaks().items()}
    estimates = {row["job"]: row["reserved_bytes"] for row in read_estimates("peaks")}
    jobs = [job for job in job_lists.read() if job.line in recorded]
    jobs = [job for job in jobs if not any(word in job.line for word in OTHER_BACKENDS + OWN_LIMITS)]
    capacities = read_estimates("capacity")
    available = {(row["job"], row["capacity_gib"]): row.get("available_bytes") for row in capacities}
    chosen = choose(job_lists.in_hash_order(jobs), recorded, estimates, available)
    SECOND_STAGE.write_text("".join(json.dumps(row) + "\n" for row in chosen))
    missing = [row["job"] for row in chosen if row["why"] != "minimum" and row["limit_bytes"] is None]
    print(f"{len(chosen)} checks; {len(missing)} of them wait for an estimate")
    return 0


if __name__ == "__main__":
    sys.exit(main())
