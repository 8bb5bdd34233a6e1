"""What is the smallest capacity at which the job still completes?"""

from __future__ import annotations

from collections.abc import Callable

from veritasest.analysis import unlimited_run
from veritasest.spec.enums import Purpose
from veritasest.studies.runner import Runner

TOLERANCE = 0.0025
MAX_RUNS = 8


def study_minimum(runner: Runner) -> None:
    unlimited = unlimited_run(runner.completed())
    if unlimited is None:
        return

    def completes(limit_bytes: int) -> bool:
        return runner.rerun(Purpose.MINIMUM, unlimited, runner.limited(limit_bytes)).completes_like(unlimited)

    smallest_that_completes(
        fails_bytes=unlimited.peak.allocated_bytes or 0,
        completes_bytes=unlimited.peak.reserved_bytes,
        completes=completes,
    )


def smallest_that_completes(
    *,
    fails_bytes: int,
    completes_bytes: int,
    completes: Callable[[int], bool],
    tolerance: float = TOLERANCE,
    max_runs: int = MAX_RUNS,
) -> int:
    """Bisects between a capacity known to work and one assumed not to; returns one that did work.

    Below the peak of live tensors freeing the cache does not help, so that peak is the failing end without being tried.
    """
    for _ in range(max_runs):
        if completes_bytes - fails_bytes <= tolerance * completes_bytes:
            break
        middle = (fails_bytes + completes_bytes) // 2
        if completes(middle):
            completes_bytes = middle
        else:
            fails_bytes = middle
    return completes_bytes
