"""The search for the smallest capacity at which a job completes."""

from __future__ import annotations

from collections.abc import Callable

TOLERANCE = 0.0025
MAX_RUNS = 8


def smallest_that_completes(
    *,
    fails_bytes: int,
    completes_bytes: int,
    completes: Callable[[int], bool],
    tolerance: float = TOLERANCE,
    max_runs: int = MAX_RUNS,
) -> int:
    """Bisects between a capacity known to work and one taken not to; returns one that really worked.

    Below the peak of live tensors no flushing helps, so that peak serves as the failing end without being tried.
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
