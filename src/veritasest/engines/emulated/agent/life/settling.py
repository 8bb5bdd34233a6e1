"""Whether the job's memory has stopped growing."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise

NEGLIGIBLE = 10_000  # a peak higher by less than this fraction of it is no new one: a list of losses grows for ever
STEPS_OF_A_TREND = 8
NEGLIGIBLE_A_STEP = 20_000  # the same for what is held after each step

PEAKS = ("allocated_peak_bytes", "reserved_peak_bytes")


class Settling:
    """Counts the steps since the last new peak. Memory that is held after every step and grows each time (outputs that
    are collected, a graph that is kept alive) will be the peak one day, so such steps do not count."""

    def __init__(self) -> None:
        self.quiet_steps = 0
        self._peaks = (0, 0)
        self._held: deque[int] = deque(maxlen=STEPS_OF_A_TREND + 1)

    def on_step(self, memory: Sequence[Mapping[str, int]]) -> int:
        """`memory`: of each device after the step. The steps since the last new peak."""
        now = tuple(max((numbers[key] for numbers in memory), default=0) for key in PEAKS)
        self._held.append(sum(numbers["allocated_bytes"] for numbers in memory))
        # The script may reset PyTorch's own peaks; ours only grow.
        is_new = any(new > old + old // NEGLIGIBLE for new, old in zip(now, self._peaks, strict=True))
        if is_new:
            self._peaks = (max(now[0], self._peaks[0]), max(now[1], self._peaks[1]))
        self.quiet_steps = 0 if is_new or self._grows() else self.quiet_steps + 1
        return self.quiet_steps

    def _grows(self) -> bool:
        held = list(self._held)
        if len(held) <= STEPS_OF_A_TREND or any(after <= before for before, after in pairwise(held)):
            return False
        return (held[-1] - held[0]) / STEPS_OF_A_TREND > self._peaks[0] / NEGLIGIBLE_A_STEP
