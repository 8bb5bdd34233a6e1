"""One run that is to repeat another goes as far as that one, by the same course."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from veritasest.analysis import Judgement
from veritasest.engines.emulated.environment import StopRule
from veritasest.job import Seen, as_far_as
from veritasest.spec.estimate import Peak
from veritasest.trace import End, Event, Header, StageBegun, Trace
from veritasest.trace.records import Observed

HEADER = Header(
    schema=1, created="", command=(), veritasest="", gpu={}, limit_bytes=None, allocator_conf=None, host={}, stop={}
)


def seen(*events: Event, steps: int = 80) -> Seen:
    return Seen(
        trace=Trace(header=HEADER, events=(*events, Observed(pid=1, t=0, steps=steps))),
        judgement=Judgement(verdict="fits", failure=None, undetermined=None, settled=True, pressed=False, warnings=()),
        peak=Peak(allocated_bytes=0, reserved_bytes=0, step=0, device=0),
        steps=steps,
    )


def begun(stage: str, step: int) -> StageBegun:
    return StageBegun(pid=1, t=0, stage=stage, step=step)


SETTLED, EXITED = (End(pid=1, t=1, reason=reason) for reason in ("settled", "exit"))
FORWARD, LEAVING = begun("forward", 40), begun("leaving", 60)


@pytest.mark.parametrize(
    ("run", "rule"),
    [
        (seen(SETTLED), StopRule(steps=80)),
        (seen(FORWARD, LEAVING, SETTLED), StopRule(steps=80, forward_from=40, leave_from=60)),
        (seen(FORWARD, LEAVING, EXITED), StopRule(until_exit=True, forward_from=40, leave_from=60)),
        (seen(EXITED), StopRule(until_exit=True)),
        (seen(SETTLED, steps=0), StopRule(budget_s=7.0)),
    ],
    ids=["ended by us", "fast-forwarded", "fast-forwarded to its end", "to its end", "no step to go by"],
)
def test_a_repeated_run_takes_the_same_course(run: Seen, rule: StopRule) -> None:
    job: Any = SimpleNamespace(stop=StopRule(budget_s=7.0))
    assert as_far_as(run, job) == rule
