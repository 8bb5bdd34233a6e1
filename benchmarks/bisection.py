"""The search for the smallest limit at which a job completes, on the GPU as `--minimum` does it on the emulated one.

Whether a job completes does not always grow with its limit: fragmentation can spare a smaller one. The same steps
between the same ends make the two searches comparable.
"""

from __future__ import annotations

from collections.abc import Callable

TOLERANCE = 0.0025


def smallest_that_completes(fails: int, completes: int, attempt: Callable[[int], bool]) -> tuple[int, int]:
    """The largest limit seen to fail and the smallest seen to complete; the peak of live tensors is taken to fail."""
    while completes - fails > max(TOLERANCE * completes, 1):
        middle = (fails + completes) // 2
        if attempt(middle):
            completes = middle
        else:
            fails = middle
    return fails, completes
