"""When a job is moved on, and when it is ended: the stages of a run, and whether the peak has settled."""

from __future__ import annotations

from typing import Any

import pytest

from veritasest.engines.emulated.agent.life.pace import Budget, Decision, Pace, Stage
from veritasest.engines.emulated.agent.life.settling import Settling
from veritasest.spec.stop import StopRule


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


DEFAULT = StopRule()


def paced(rule: StopRule = DEFAULT, *, seconds_a_step: float = 1.0, steps: int = 60, **state: bool) -> list[Any]:
    """The stage and decision after each of so many steps without a new peak after the first."""
    clock = Clock()
    pace = Pace(rule, clock=clock)
    found = []
    for step in range(1, steps + 1):
        clock.now += seconds_a_step
        decision = pace.on_step(step=step, quiet_steps=step - 1, **state)
        found.append((pace.stage, decision))
        if decision is Decision.END:
            break
    return found


def test_a_settled_job_runs_as_it_is_then_forward_then_leaves_then_ends() -> None:
    found = paced()
    stages = [stage for stage, _ in found]
    # Settled after 3 steps and 3 s: budgets of 4, 5 and 5 s; a stage is over in the first step beyond.
    assert [stages.count(stage) for stage in Stage] == [2, 5, 6, 7]
    assert found[-1] == (Stage.LEAVING, Decision.END)
    assert {decision for stage, decision in found if stage is Stage.FORWARD} == {Decision.GO_ON, Decision.MOVE_ON}


def test_a_job_that_starts_slowly_is_given_more_time() -> None:
    assert Budget.after(3.0, None).total_s == 14.0
    assert Budget.after(40.0, None).total_s == 60.0
    assert Budget.after(4000.0, None).total_s == 90.0
    assert Budget.after(40.0, 6.0).total_s == 6.0


def test_batches_that_vary_keep_the_job_as_it_is() -> None:
    assert {stage for stage, _ in paced(gathering=True)} == {Stage.SETTLING, Stage.AS_IT_IS}


@pytest.mark.parametrize("unfinished", ["waiting", "ending"])
def test_an_epoch_that_is_about_to_end_is_waited_for_but_not_for_ever(unfinished: str) -> None:
    assert len(paced(**{unfinished: True})) == len(paced()) + 10  # 15 s in place of the last budget of 5


def test_a_peak_that_never_settles_is_never_ended() -> None:
    pace = Pace(DEFAULT, clock=Clock())
    decisions = {pace.on_step(step=step, quiet_steps=0) for step in range(1, 500)}
    assert decisions == {Decision.GO_ON}


def test_steps_ends_the_job_whatever_the_clock_says() -> None:
    found = paced(StopRule(steps=7), seconds_a_step=100.0)
    assert [decision for _, decision in found] == [*[Decision.GO_ON] * 6, Decision.END]


def test_a_run_is_repeated_by_its_steps() -> None:
    found = paced(StopRule(steps=20, forward_from=5, leave_from=9), seconds_a_step=0.0)
    stages = [stage for stage, _ in found]
    assert [stages.count(stage) for stage in Stage] == [4, 0, 4, 12]
    assert found[-1][1] is Decision.END


def test_a_long_evaluation_does_not_hold_up_the_forward_stage() -> None:
    clock = Clock()
    pace = Pace(DEFAULT, clock=clock)
    for step in (1, 2, 3):
        pace.on_step(step=step, quiet_steps=step)
    clock.now += 60.0
    pace.on_batch()
    assert pace.stage is Stage.FORWARD


def test_batches_that_vary_keep_the_job_as_it_is_between_steps() -> None:
    clock = Clock()
    pace = Pace(DEFAULT, clock=clock)
    for step in (1, 2, 3):
        pace.on_step(step=step, quiet_steps=step, gathering=True)
    clock.now += 60.0
    pace.on_batch()
    assert pace.stage is Stage.AS_IT_IS


def test_a_job_that_still_grows_is_run_on_as_it_is() -> None:
    clock = Clock()
    pace = Pace(DEFAULT, clock=clock)
    for step in (1, 2, 3):
        pace.on_step(step=step, quiet_steps=step)
    clock.now += 60.0
    pace.on_step(step=4, quiet_steps=0)
    pace.on_batch()
    assert pace.stage is Stage.AS_IT_IS


def memory(peak: int, held: int) -> list[dict[str, int]]:
    return [{"allocated_peak_bytes": peak, "reserved_peak_bytes": peak, "allocated_bytes": held}]


def test_steps_without_a_new_peak_are_counted() -> None:
    settling = Settling()
    assert [settling.on_step(memory(peak, 5)) for peak in (9_000, 9_000, 9_500, 9_500, 9_100)] == [0, 1, 0, 1, 2]


def test_a_list_of_losses_does_not_keep_a_job_from_settling() -> None:
    settling = Settling()
    gib = 2**30
    quiet = [settling.on_step(memory(gib + 512 * step, gib // 2 + 512 * step)) for step in range(100)]
    assert min(quiet[50:]) > 40


def test_memory_that_grows_with_every_step_below_the_peak_is_not_quiet() -> None:
    settling = Settling()
    gib = 2**30
    quiet = [settling.on_step(memory(10 * gib, gib + 10 * 2**20 * step)) for step in range(20)]
    assert quiet[8:] == [0] * 12  # eight steps make a trend
