"""How far do guesses, assumed values and kernel timing move the requirement?

Two things that a GPU does not decide the same way each time move a job's reserved memory:
- timing: blocks that another stream used can be reused when the GPU has got that far. The first run sees them free at
  once, a further one as late as possible (native/core/order.c).
- addresses: which of several equal free blocks is taken. That is simulated from the run's own history
  (analysis/allocator), without a further run.
"""

from __future__ import annotations

from dataclasses import replace

from veritasest.analysis import (
    PATIENCE_S,
    CompletedRun,
    capacity_run,
    guess_bounds,
    library_overhead_bytes,
    sizes_are_assumed,
    unlimited_run,
)
from veritasest.spec.enums import Bound, Choices, EventTiming, Purpose, Verdict
from veritasest.studies.runner import Runner
from veritasest.trace import DeferredFree

_GUESSES = {Bound.LOW: Purpose.GUESSES_LOW, Bound.HIGH: Purpose.GUESSES_HIGH}
_CHOICES = {Choices.NONE: Purpose.CHOICES_NONE, Choices.ALL: Purpose.CHOICES_ALL}


def study_ranges(runner: Runner) -> None:
    """The unlimited run again, with one thing changed each time."""
    unlimited = unlimited_run(runner.completed())
    if unlimited is None:
        return
    # The trace is asked for these three first: later runs may push it out of memory.
    bounds, assumed = guess_bounds(unlimited.trace), sizes_are_assumed(unlimited.trace)
    defers = bool(unlimited.trace.of(DeferredFree))
    overhead_bytes = library_overhead_bytes(unlimited.trace)
    for bound in bounds:
        runner.rerun(_GUESSES[bound], unlimited, replace(runner.limited(None), guesses=bound))
    if assumed and unlimited.summary.elapsed_s <= PATIENCE_S:
        _study_choices(runner, unlimited)
    if defers:
        _study_timing(runner, unlimited, runner.gpu.available_bytes - overhead_bytes)


def _study_choices(runner: Runner, unlimited: CompletedRun) -> None:
    """A job need not survive either extreme, and a loop may never end that way."""
    timeout_s = min(runner.asked.timeout_s or PATIENCE_S, PATIENCE_S)
    for choices, purpose in _CHOICES.items():
        spec = replace(runner.limited(None), choices=choices, timeout_s=timeout_s)
        runner.rerun(purpose, unlimited, spec)


def _study_timing(runner: Runner, unlimited: CompletedRun, available_bytes: int) -> None:
    """The job with its blocks freed late; and at capacity, if it needs more than there is that way."""
    late = runner.rerun(Purpose.LATE_EVENTS, unlimited, replace(runner.limited(None), events=EventTiming.LATE))
    first = capacity_run(runner.completed())
    if not late.completes_like(unlimited) or first.verdict is not Verdict.FITS:
        return
    if late.peak.reserved_bytes > available_bytes:
        limited = runner.limited(available_bytes)
        runner.rerun(Purpose.LATE_EVENTS_AT_CAPACITY, unlimited, replace(limited, events=EventTiming.LATE))
