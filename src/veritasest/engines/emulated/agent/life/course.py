"""Where the job goes after each step: on as it is, on to what has not run yet, out of its loops, or to its end."""

from __future__ import annotations

from collections.abc import Callable

from veritasest.engines.emulated.agent.batches import Batches
from veritasest.engines.emulated.agent.guard import guarded
from veritasest.engines.emulated.agent.life.control import LoopControl, NotReached
from veritasest.engines.emulated.agent.life.frameworks import Frameworks
from veritasest.engines.emulated.agent.life.pace import Decision, Pace
from veritasest.engines.emulated.agent.loaders import Level
from veritasest.spec.enums import EndReason, Stage
from veritasest.spec.stop import SETTLE_QUIET_STEPS, StopRule

STEPS_OF_COUNTERS = 2  # after which the job's own counters are looked up, to know where they began


class Course:
    """`level` reads the memory of the GPU. `on_stage` is told when a stage of the run begins: its name, the step, and
    the seconds that all stages may take together."""

    def __init__(
        self, rule: StopRule, *, level: Callable[[], Level], on_stage: Callable[[Stage, int, float | None], None]
    ) -> None:
        self._rule = rule
        self._on_stage = on_stage
        self._step = 0
        self._pace = Pace(rule, on_stage=self._begin)
        self._control: LoopControl | None = None
        self._is_leaving = False  # the job's loops are in their last round
        self.batches = Batches(level=level, on_batch=self._pace.on_batch)
        self.frameworks = Frameworks(self._pace)

    def on_step(self, step: int, quiet_steps: int) -> EndReason | None:
        """Why to end the job now; None: it goes on."""
        self._step = step
        self.batches.on_step(quiet_steps=quiet_steps)
        self._follow_loops()
        decision = self._pace.on_step(
            step=step,
            quiet_steps=quiet_steps,
            gathering=self.batches.is_gathering(step, quiet_steps),
            waiting=self.batches.is_waiting(),
            ending=self._is_leaving or self.batches.is_ending(),
        )
        if decision is Decision.MOVE_ON:
            self._look_further()
        elif decision is Decision.LEAVE:
            self._is_leaving = bool(self._leave())
            decision = Decision.GO_ON if self._is_leaving else Decision.END
        if decision is not Decision.END:
            return None
        is_settled = self._rule.whole_life and quiet_steps >= SETTLE_QUIET_STEPS
        return EndReason.SETTLED if is_settled else EndReason.STEPS

    @guarded("what was not reached", instead=lambda _self: [])
    def not_reached(self) -> list[NotReached]:
        return [*self._loop_control().not_reached(), *self.frameworks.not_reached()]

    @guarded("following the job's loops")
    def _follow_loops(self) -> None:
        if self._step <= STEPS_OF_COUNTERS and self._rule.moves_on:
            self._loop_control().note_counters()
        for iterator, count in self.batches.take_skipped():
            self._loop_control().skip_indices(iterator, count)
            self.frameworks.skip(count)

    @guarded("moving the job on")
    def _look_further(self) -> bool:
        control = self._loop_control()
        return control.reach_next() or control.shorten()

    @guarded("leaving the job's loops")
    def _leave(self) -> bool:
        left = self._loop_control().leave()
        return self.frameworks.leave() or left or self.batches.is_ending()

    def _loop_control(self) -> LoopControl:
        if self._control is None:
            self._control = LoopControl()
        return self._control

    def _begin(self, stage: Stage) -> None:
        budget = self._pace.budget
        self._on_stage(stage, self._step, round(budget.total_s, 1) if budget else None)
        if stage is Stage.FORWARD:
            self.batches.begin_forward(self._step)
