"""How far the job is run once its peak has settled: as it is for a while, then forward to what has not run yet.

| stage | what happens | until |
|---|---|---|
| settling | the job runs as it is | the last steps brought no new peak |
| as it is | the same | a budget in seconds is spent, or the script ends: most short jobs do |
| forward | epochs are cut to their largest and last batch, loops move on to branches not run yet | a second budget |
| leaving | loops move on to their last round, so that the script gets to its end | it does, or a third budget |

A run that repeats another (at another capacity, say) changes stages after the same steps, whatever the clock says.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from veritasest.spec.enums import Stage
from veritasest.spec.stop import SETTLE_AFTER_STEPS, SETTLE_QUIET_STEPS, StopRule

LONGEST_ENDING_S = 15.0  # for an epoch or a loop that is about to end, beyond the budget


class Decision(Enum):
    """What to do after a step. MOVE_ON: the peak is quiet again, so the next thing may be looked for."""

    GO_ON = 0
    MOVE_ON = 1
    LEAVE = 2
    END = 3


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Seconds for each stage. They grow with the time the job took to settle: a job that takes a minute to import and
    build its model may take some seconds more."""

    as_it_is_s: float
    forward_s: float
    leaving_s: float

    @classmethod
    def after(cls, elapsed_s: float, chosen_s: float | None) -> Budget:
        if chosen_s is not None:
            return cls(as_it_is_s=chosen_s / 3, forward_s=chosen_s / 3, leaving_s=chosen_s / 3)
        return cls(
            as_it_is_s=min(max(4.0, 0.5 * elapsed_s), 30.0),
            forward_s=min(max(5.0, 0.5 * elapsed_s), 30.0),
            leaving_s=min(max(5.0, 0.5 * elapsed_s), 30.0),
        )

    @property
    def total_s(self) -> float:
        return self.as_it_is_s + self.forward_s + self.leaving_s


class Pace:
    """Asked after every step. `on_stage` is called when a stage begins."""

    def __init__(
        self,
        rule: StopRule,
        *,
        on_stage: Callable[[Stage], None] = lambda _stage: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stage = Stage.SETTLING
        self.budget: Budget | None = None
        self._rule = rule
        self._on_stage = on_stage
        self._clock = clock
        self._begun = self._stage_begun = clock()
        self._steps_since_move = 0
        self._may_skip = False  # as of the last step

    def on_step(
        self, *, step: int, quiet_steps: int, gathering: bool = False, waiting: bool = False, ending: bool = False
    ) -> Decision:
        """`quiet_steps`: since the last new peak. `gathering`: batches vary and have not been seen for long enough.
        `waiting`: a loader has still to hand out a batch of interest. `ending`: an epoch, or the job's
        loops, are about to end."""
        self._steps_since_move += 1
        if self._rule.whole_life:
            self._by_the_clock(step, quiet_steps, gathering)
        else:
            self._by_the_step(step)
        return self._decide(step, quiet_steps, waiting=waiting, ending=ending)

    def on_batch(self) -> None:
        """A loader is about to hand out a batch: an evaluation may go on for long without a step."""
        if self._rule.whole_life and self._may_skip and self.stage is Stage.AS_IT_IS and self._is_over():
            self._enter(Stage.FORWARD)

    def _by_the_clock(self, step: int, quiet_steps: int, gathering: bool) -> None:
        settled = step >= SETTLE_AFTER_STEPS and quiet_steps >= SETTLE_QUIET_STEPS
        self._may_skip = settled and not gathering
        if self.stage is Stage.SETTLING and settled:
            self.budget = Budget.after(self._clock() - self._begun, self._rule.budget_s)
            self._enter(Stage.AS_IT_IS)
        if gathering and self.stage is Stage.AS_IT_IS:
            return
        if self.stage is Stage.AS_IT_IS and self._is_over() and settled:
            self._enter(Stage.FORWARD)
        elif self.stage is Stage.FORWARD and self._is_over() and settled:
            self._enter(Stage.LEAVING)

    def _by_the_step(self, step: int) -> None:
        if step == self._rule.forward_from:
            self._enter(Stage.FORWARD)
        if step == self._rule.leave_from:
            self._enter(Stage.LEAVING)

    def _decide(self, step: int, quiet_steps: int, *, waiting: bool, ending: bool) -> Decision:
        if not self._rule.whole_life:
            if self._rule.steps is not None and step >= self._rule.steps:
                return Decision.END
        elif self.stage is Stage.LEAVING and self._is_over():
            unfinished = waiting or ending or quiet_steps < SETTLE_QUIET_STEPS
            return Decision.GO_ON if unfinished and not self._is_over(at_least_s=LONGEST_ENDING_S) else Decision.END
        if self.stage in (Stage.SETTLING, Stage.AS_IT_IS) or waiting:
            return Decision.GO_ON
        if min(quiet_steps, self._steps_since_move) < SETTLE_QUIET_STEPS:
            return Decision.GO_ON
        self._steps_since_move = 0
        return Decision.MOVE_ON if self.stage is Stage.FORWARD else Decision.LEAVE

    def _enter(self, stage: Stage) -> None:
        self.stage = stage
        self._stage_begun = self._clock()
        self._on_stage(stage)

    def _limit_s(self) -> float:
        if self.budget is None:
            return float("inf")
        limits = {Stage.AS_IT_IS: self.budget.as_it_is_s, Stage.FORWARD: self.budget.forward_s}
        return limits.get(self.stage, self.budget.leaving_s)

    def _is_over(self, at_least_s: float = 0.0) -> bool:
        return self._clock() - self._stage_begun > max(self._limit_s(), at_least_s)
