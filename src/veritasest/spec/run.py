"""One launch of a job: everything that may differ from run to run."""

from __future__ import annotations

from dataclasses import dataclass, field

from veritasest.spec.enums import Bound, Choices, EventTiming
from veritasest.spec.gpu import GPU
from veritasest.spec.stop import StopRule
from veritasest.spec.values import ValuePolicy


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """`limit_bytes`: what the job's allocations may add up to; None: no limit. `guesses`: the bound that sizes which
    are guesses take. `choices`: what the program selects by assumed values. `gpus`: devices the job sees."""

    gpu: GPU
    limit_bytes: int | None
    stop: StopRule = field(default_factory=StopRule)
    values: ValuePolicy = field(default_factory=ValuePolicy)
    timeout_s: float | None = None
    guesses: Bound | None = None
    choices: Choices | None = None
    events: EventTiming = EventTiming.AT_ONCE
    gpus: int = 1
