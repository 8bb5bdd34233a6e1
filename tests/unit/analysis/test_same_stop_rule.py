"""A run that repeats another goes as far as that one, skipping the same parts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from traces import header

from veritasest.analysis.completed import same_stop_rule
from veritasest.spec.enums import EndReason, Stage
from veritasest.spec.stop import StopRule
from veritasest.trace import End, Event, Observed, StageBegun, Step, Trace


def recorded(*events: Event, steps: int = 80) -> Trace:
    asked = header()
    asked = replace(asked, run=replace(asked.run, stop=StopRule(budget_s=7.0)))
    done = [Step(pid=1, step=steps, allocated_peak_bytes=0, reserved_peak_bytes=0)] if steps else []
    return Trace(header=asked, events=(*done, *events, Observed(pid=1, steps=steps)))


SETTLED, EXITED = (End(pid=1, t=1, reason=reason) for reason in (EndReason.SETTLED, EndReason.EXIT))
FORWARD, LEAVING = StageBegun(pid=1, stage=Stage.FORWARD, step=40), StageBegun(pid=1, stage=Stage.LEAVING, step=60)


@pytest.mark.parametrize(
    ("run", "rule"),
    [
        (recorded(SETTLED), StopRule(steps=80)),
        (recorded(FORWARD, LEAVING, SETTLED), StopRule(steps=80, forward_from=40, leave_from=60)),
        (recorded(FORWARD, LEAVING, EXITED), StopRule(until_exit=True, forward_from=40, leave_from=60)),
        (recorded(EXITED), StopRule(until_exit=True)),
        (recorded(SETTLED, steps=0), StopRule(budget_s=7.0)),
    ],
    ids=["ended by the agent", "fast-forwarded", "fast-forwarded to its end", "to its end", "without a step"],
)
def test_a_repeated_run_skips_the_same_parts(run: Trace, rule: StopRule) -> None:
    assert same_stop_rule(run) == rule
