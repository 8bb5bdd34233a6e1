"""What a user should know about one run."""

from __future__ import annotations

from collections.abc import Iterable

from veritasest.analysis.doubts import describe_own
from veritasest.analysis.peaks import steps
from veritasest.analysis.settled import is_growing, settled
from veritasest.spec.enums import EndReason, ExitReason, Stage, Verdict
from veritasest.trace import (
    Assumed,
    Batches,
    End,
    Exit,
    Misuse,
    OutOfMemory,
    OwnError,
    StageBegun,
    Step,
    Trace,
)


def run_warnings(trace: Trace, ending: Exit, verdict: Verdict) -> Iterable[str]:
    done = steps(trace.events)
    if ending.reason is ExitReason.TIMEOUT:
        yield f"stopped by --timeout after {done} optimizer steps; the peak may still grow"
    elif verdict is Verdict.FITS and not settled(trace, ending) and _was_limited(trace):
        seen = f"the peak was still growing in the last of {done} steps" if is_growing(trace) else _few(done)
        yield f"{seen}; a larger --steps, or none, lets it settle"
    if verdict is Verdict.FITS:
        about = [_about_batches(loader, trace) for loader in trace.of(Batches)]
        yield from dict.fromkeys(filter(None, about))  # all ranks have the same
    if verdict is Verdict.JOB_FAILED and trace.of(Assumed):
        yield "the job read assumed values before it failed; if they caused it, try --values real or --assume"
    yield from dict.fromkeys(f"{describe_own(error)}; please report it" for error in trace.of(OwnError))
    caught = len(trace.of(OutOfMemory))
    if verdict is Verdict.FITS and caught:
        errors = "an out-of-memory error" if caught == 1 else f"{caught} out-of-memory errors"
        yield f"the script caught {errors} and continued"
    if trace.of(Misuse):
        yield f"invalid use of device memory: {', '.join(sorted({event.what for event in trace.of(Misuse)}))}"


def _was_limited(trace: Trace) -> bool:
    return EndReason.STEPS in {end.reason for end in trace.of(End)}


def _few(done: int) -> str:
    return f"{done} {'step is' if done == 1 else 'steps are'} too few to tell whether the peak has settled"


def _about_batches(loader: Batches, trace: Trace) -> str | None:
    """What remains unknown where batch shapes varied and not all batches were run."""
    if not loader.varied:
        return None
    varied = f"({loader.signatures} shapes in {loader.handed_out} batches)"
    if loader.still_changing:
        return (
            f"batch shapes were still changing when the run was stopped {varied}; the largest batch may not have been "
            "observed: a larger --steps, or --until-exit, runs more"
        )
    if not loader.skipped:
        return None
    epoch = f"the epoch's {loader.epoch_batches} batches" if loader.epoch_batches else "the epoch"
    growth = "was still growing, and will grow" if _grew_late(loader, trace) else "may grow slightly"
    return (
        f"batch shapes varied {varied}: the largest of {epoch} was run, {loader.skipped} were skipped; reserved memory "
        f"{growth} further through fragmentation: --until-exit runs all batches"
    )


def _grew_late(loader: Batches, trace: Trace) -> bool:
    """Whether reserved memory grew in the second half of the steps before batches were skipped."""
    before = next((begun.step for begun in trace.of(StageBegun) if begun.stage is Stage.FORWARD), 0)
    peaks = {
        event.step: event.reserved_peak_bytes
        for event in trace.of(Step)
        if event.pid == loader.pid and event.step <= before
    }
    return peaks.get(before, 0) > peaks.get(before // 2, 0)
