"""When a run ends."""

from __future__ import annotations

from dataclasses import dataclass

# The peak has settled when so many optimizer steps are done, and the last few of them reached no new peak.
SETTLE_AFTER_STEPS = 3
SETTLE_QUIET_STEPS = 2


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """After exactly `steps`, never (`until_exit`), or, by default, when the job's whole life has been observed or
    `budget_s` was spent on it (None: a budget that grows with the job's own time).

    `forward_from` and `leave_from` repeat a run: batches are skipped, and loops left, after the same steps.
    """

    steps: int | None = None
    until_exit: bool = False
    budget_s: float | None = None
    forward_from: int | None = None
    leave_from: int | None = None

    @property
    def whole_life(self) -> bool:
        return self.steps is None and not self.until_exit and not self._repeats

    @property
    def moves_on(self) -> bool:
        """Whether the job may be moved on to later parts of its life."""
        return self.whole_life or self.forward_from is not None

    @property
    def _repeats(self) -> bool:
        return self.forward_from is not None or self.leave_from is not None
