"""One run of a recording, analysed; and which run of a recording answers which question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from veritasest.analysis.life import observed, same_course
from veritasest.analysis.peaks import fullest_device, peak, steps
from veritasest.analysis.verdict import WAS_INTERRUPTED, RunVerdict, classify_run, ending_of
from veritasest.spec.enums import Purpose, Verdict
from veritasest.spec.estimate import Peak, Run
from veritasest.spec.run import RunSpec
from veritasest.spec.stop import StopRule
from veritasest.trace import Trace
from veritasest.trace.recording import RecordedRun


@dataclass(frozen=True, kw_only=True)
class CompletedRun:
    """`device`: the fullest, which `peak` is of. `same_stop_rule`: lets another run go as far as this one, skipping the
    same parts. The trace is not held: it may be large."""

    recorded: RecordedRun
    spec: RunSpec
    result: RunVerdict
    device: int
    peak: Peak
    steps: int
    same_stop_rule: StopRule
    summary: Run

    @property
    def trace(self) -> Trace:
        return self.recorded.trace()

    @property
    def purpose(self) -> Purpose:
        return self.recorded.purpose

    @property
    def verdict(self) -> Verdict:
        return self.result.verdict

    @property
    def was_interrupted(self) -> bool:
        return self.result.undetermined == WAS_INTERRUPTED

    def completes_like(self, other: CompletedRun) -> bool:
        """Whether it got as far as the other: a job that dies later at a smaller capacity did not complete."""
        return self.verdict is Verdict.FITS and self.steps >= other.steps


@lru_cache(maxsize=64)
def complete(recorded: RecordedRun) -> CompletedRun:
    trace = recorded.trace()
    result, done, device = classify_run(trace), steps(trace.events), fullest_device(trace)
    ending = ending_of(trace)
    return CompletedRun(
        recorded=recorded,
        spec=trace.header.run,
        result=result,
        device=device,
        peak=peak(trace, device),
        steps=done,
        same_stop_rule=same_stop_rule(trace),
        summary=Run(
            purpose=recorded.purpose,
            limit_bytes=trace.header.run.limit_bytes,
            verdict=result.verdict,
            steps=done,
            elapsed_s=ending.elapsed_s,
            host_peak_bytes=ending.host_peak_bytes,
        ),
    )


def same_stop_rule(trace: Trace) -> StopRule:
    """The stop rule that lets another run go as far as this one, skipping the same parts."""
    done = steps(trace.events)
    if not done:
        return trace.header.run.stop
    forward_from, leave_from = same_course(trace)
    ended = observed(trace).to_the_end
    return StopRule(steps=None if ended else done, until_exit=ended, forward_from=forward_from, leave_from=leave_from)


def find(runs: Sequence[CompletedRun], purpose: Purpose) -> CompletedRun | None:
    return next((run for run in runs if run.purpose is purpose), None)


def skipped_parts(run: CompletedRun) -> bool:
    return same_course(run.trace)[0] is not None


def capacity_run(runs: Sequence[CompletedRun]) -> CompletedRun:
    """The run at the GPU's capacity; its repetition without skipping, if skipping made the script fail."""
    first, again = runs[0], find(runs, Purpose.WITHOUT_SKIPPING)
    if again is None:
        return first
    if again.verdict is not Verdict.FITS:
        return again
    reason = first.result.failure.message if first.result.failure else "no reason recorded"
    note = f"skipping repeated parts made the script fail ({reason}); nothing after step {again.steps} was observed"
    return replace(again, result=replace(again.result, warnings=(*again.result.warnings, note)))


def needs_unlimited(first: CompletedRun) -> bool:
    """Whether the run at capacity does not show how much memory the job would use if it could."""
    pressed = first.verdict is Verdict.FITS and first.result.had_alloc_retries
    return pressed or first.verdict is Verdict.DOES_NOT_FIT


def unlimited_run(runs: Sequence[CompletedRun]) -> CompletedRun | None:
    """The run that shows the job's requirement: without a limit, or at capacity if nothing was refused there."""
    first = capacity_run(runs)
    if needs_unlimited(first):
        run = find(runs, Purpose.UNLIMITED)
        return run if run is not None and run.verdict is Verdict.FITS else None
    return first if first.verdict is Verdict.FITS else None


def decisive_run(runs: Sequence[CompletedRun]) -> CompletedRun:
    """The run that the verdict comes from: the upper end of what repeated runs reserve decides."""
    first, late = capacity_run(runs), find(runs, Purpose.LATE_EVENTS_AT_CAPACITY)
    return late if late is not None and late.verdict is Verdict.DOES_NOT_FIT else first
