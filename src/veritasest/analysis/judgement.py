"""From what was seen of one run to its verdict."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter

from veritasest.analysis.evidence import describe_own, doubt_about_fit, doubt_about_us, failed_workers, own_errors
from veritasest.analysis.life import FORWARD
from veritasest.analysis.peaks import steps
from veritasest.analysis.processes import STOPPED_BY_US, gpu_processes, stopped_at
from veritasest.spec.estimate import Failure, Undetermined, Verdict
from veritasest.trace import (
    Assumed,
    Batches,
    End,
    Exit,
    HostMemory,
    JobException,
    Misuse,
    OutOfMemory,
    Refused,
    StageBegun,
    Step,
    Trace,
    Unmodelled,
)
from veritasest.units import format_bytes

# A library function newer than our tables: the loader names it when torch is imported.
_MISSING_SYMBOL = re.compile(r"undefined symbol: ((?:cu|nccl|nvml)\w+)")
_NO_ROOM = re.compile(r"ALLOC_FAILED|out of memory")
QUIET_STEPS = 2  # a peak that did not move for this many steps counts as settled


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """`pressed`: some allocation was refused at first, so the peak is not what the job would take if it could."""

    verdict: Verdict
    failure: Failure | None
    undetermined: Undetermined | None
    settled: bool
    pressed: bool
    warnings: tuple[str, ...]


def judge(trace: Trace) -> Judgement:
    ending = _ending(trace)
    verdict, failure = _verdict(trace, ending)
    doubt = _doubt(trace, ending, verdict)
    if doubt is not None:
        verdict, failure = "undetermined", None
    return Judgement(
        verdict=verdict,
        failure=failure,
        undetermined=doubt,
        settled=verdict == "fits" and _settled(trace, ending),
        pressed=bool(trace.of(Refused)),
        warnings=tuple(_warnings(trace, ending, verdict)),
    )


def _doubt(trace: Trace, ending: Exit, verdict: Verdict) -> Undetermined | None:
    if verdict == "fits":
        return doubt_about_fit(trace, ending, quiet=_quiet(trace))
    return doubt_about_us(trace) if verdict == "job_failed" else None


def _verdict(trace: Trace, ending: Exit) -> tuple[Verdict, Failure | None]:
    if trace.of(HostMemory):
        return "unsupported", _host_memory(trace.of(HostMemory)[0], ending)
    oom = _fatal_oom(trace, ending)
    if oom is not None:
        return "does_not_fit", oom
    raised = trace.of(JobException)
    stopped = _stopped_well(trace)
    if ending.reason == "timeout" or ending.code == 0 or stopped:
        return "fits", None
    refused = [f"{event.library}: {event.name}" for event in trace.of(Unmodelled) if event.how == "refused"]
    refused += [found[1] for event in raised if (found := _MISSING_SYMBOL.search(event.message))]
    failure = _own_failure(raised, ending)
    if refused:
        return "unsupported", Failure(
            kind=failure.kind,
            message=f"the job used what the emulated device does not offer ({', '.join(refused)}): {failure.message}",
            file=failure.file,
            line=failure.line,
            exit_code=failure.exit_code,
        )
    return "job_failed", failure


def _stopped_well(trace: Trace) -> bool:
    """Whether we ended a process because it had shown enough, and none that used the GPU had failed before. What others
    make of that end says nothing: nbconvert and Ray call it a failure of their worker, and fail themselves."""
    stop = stopped_at(trace)
    if stop is None:
        return False
    used = gpu_processes(trace)
    raised = any(event.t < stop and event.pid in used for event in trace.of(JobException))
    return not raised and not failed_workers(trace)


def _host_memory(event: HostMemory, ending: Exit) -> Failure:
    return Failure(
        kind="host_memory",
        message=f"real values need more of this host's memory than the {format_bytes(event.limit_bytes)} they may "
        "take; allow more with --host-memory, or compute one part of the model with --values real:MODULE",
        requested_bytes=event.bytes,
        exit_code=ending.code,
    )


def _fatal_oom(trace: Trace, ending: Exit) -> Failure | None:
    """The out-of-memory error that ended the job: one that no step followed, in a job that ended badly."""
    if ending.code == 0 and ending.reason == "exited":
        return None
    ended_well = {end.pid for end in trace.of(End) if end.reason in STOPPED_BY_US}
    last_step = {step.pid: step.t for step in trace.of(Step)}
    uncaught = {event.pid for event in trace.of(JobException) if event.type.endswith("OutOfMemoryError")}
    for oom in reversed(trace.of(OutOfMemory)):
        if oom.pid in uncaught or (oom.pid not in ended_well and oom.t >= last_step.get(oom.pid, oom.t)):
            return _oom_failure(oom, ending)
    for event in trace.of(JobException):
        if event.type.endswith("OutOfMemoryError"):
            return Failure(kind="oom", message=event.message, file=event.file, line=event.line, exit_code=ending.code)
    return _refused_library(trace, ending)


def _refused_library(trace: Trace, ending: Exit) -> Failure | None:
    """A library that finds no room for itself says so with an error of its own: CUBLAS_STATUS_ALLOC_FAILED."""
    refused = {event.pid: event for event in trace.of(Refused) if event.owner != "job"}
    for raised in trace.of(JobException):
        event = refused.get(raised.pid)
        if event is not None and _NO_ROOM.search(raised.message):
            return Failure(
                kind="oom",
                message=f"no room left for the {format_bytes(event.bytes)} that {event.owner} takes for itself",
                requested_bytes=event.bytes,
                file=raised.file,
                line=raised.line,
                exit_code=ending.code,
            )
    return None


def _oom_failure(oom: OutOfMemory, ending: Exit) -> Failure:
    asked = format_bytes(oom.bytes) if oom.bytes is not None else "more memory"
    return Failure(
        kind="oom",
        message=f"out of memory while asking for {asked}, {oom.step} optimizer steps done",
        requested_bytes=oom.bytes,
        step=oom.step,
        file=oom.file,
        line=oom.line,
        code=oom.code,
        exit_code=ending.code,
    )


def _own_failure(raised: tuple[JobException, ...], ending: Exit) -> Failure:
    code = ending.code
    if raised:
        last = raised[-1]
        message = f"{last.type}: {last.message}" if last.message else last.type
        return Failure(kind="exception", message=message, file=last.file, line=last.line, exit_code=code)
    if code is not None and code < 0:
        return Failure(kind="signal", message=f"the job was killed by {_signal_name(-code)}", exit_code=code)
    if code is None:
        return Failure(kind="exit", message="the job left no exit status: its launcher was killed", exit_code=code)
    return Failure(kind="exit", message=f"the job ended with exit code {code}", exit_code=code)


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} (signal {number})"
    except ValueError:
        return f"signal {number}"


def _settled(trace: Trace, ending: Exit) -> bool:
    ends = {end.reason for end in trace.of(End)}
    if "settled" in ends:
        return True
    if "steps" in ends or ending.reason != "exited":
        return _quiet(trace)
    return True


def _quiet(trace: Trace) -> bool:
    """Whether the last steps brought no new peak, allocated or reserved, on any device or in any process."""
    return all(_is_quiet(trace, attrgetter(name)) for name in ("allocated_peak_bytes", "reserved_peak_bytes"))


def _grows(trace: Trace) -> bool:
    peaks = [_peaks_by_step(trace, attrgetter(name)) for name in ("allocated_peak_bytes", "reserved_peak_bytes")]
    return any(len(known) > 1 and max(known[-QUIET_STEPS:]) > max(known[:-QUIET_STEPS] or known[:1]) for known in peaks)


def _few(done: int) -> str:
    return f"{done} {'step is' if done == 1 else 'steps are'} too few to tell whether the peak has settled"


def _is_quiet(trace: Trace, peak_of: Callable[[Step], int]) -> bool:
    peaks = _peaks_by_step(trace, peak_of)
    return len(peaks) > QUIET_STEPS and max(peaks) in peaks[:-QUIET_STEPS]


def _peaks_by_step(trace: Trace, peak_of: Callable[[Step], int]) -> list[int]:
    highest: dict[int, int] = {}
    for step in trace.of(Step):
        highest[step.step] = max(highest.get(step.step, 0), peak_of(step))
    return [highest[step] for step in sorted(highest)]


def _warnings(trace: Trace, ending: Exit, verdict: Verdict) -> Iterable[str]:
    done = steps(trace.events)
    if ending.reason == "timeout":
        yield f"stopped by --timeout after {done} optimizer steps; the peak may still grow"
    elif verdict == "fits" and "steps" in {end.reason for end in trace.of(End)} and not _settled(trace, ending):
        seen = f"the peak was still growing in the last of {done} steps" if _grows(trace) else _few(done)
        yield f"{seen}; a larger --steps, or none, lets it settle"
    if verdict == "fits":
        about = [_about_batches(loader, trace) for loader in trace.of(Batches)]
        yield from dict.fromkeys(filter(None, about))  # ranks say the same
    if verdict == "job_failed" and trace.of(Assumed):
        yield "values were assumed before the job failed; if it failed by one of them, --values real or --assume helps"
    yield from dict.fromkeys(f"{describe_own(error)}; please report it" for error in own_errors(trace))
    caught = len(trace.of(OutOfMemory))
    if verdict == "fits" and caught:
        yield f"PyTorch ran out of memory {caught} times and the script went on: it caught the error itself"
    if trace.of(Misuse):
        yield f"memory was misused: {', '.join(sorted({event.what for event in trace.of(Misuse)}))}"


def _about_batches(loader: Batches, trace: Trace) -> str | None:
    """The doubt that is left where the shapes of batches varied and not all of them were run."""
    if not loader.varied:
        return None
    varied = f"({loader.signatures} shapes in {loader.handed_out} batches)"
    if loader.still_changing:
        return (
            f"batch shapes were still changing when the run was stopped {varied}; the largest batch may not have been "
            "seen: a larger --steps, or --until-exit, runs more"
        )
    if not loader.skipped:
        return None
    epoch = f"the epoch's {loader.epoch_batches} batches" if loader.epoch_batches else "the epoch"
    growth = "was still growing, and will grow" if _grew_late(loader, trace) else "may grow a little"
    return (
        f"batch shapes varied {varied}: the largest of {epoch} was run, {loader.skipped} were skipped; reserved memory "
        f"{growth} further by fragmentation: --until-exit runs them all"
    )


def _grew_late(loader: Batches, trace: Trace) -> bool:
    """Whether reserved memory grew in the second half of the steps before batches were skipped."""
    before = next((begun.step for begun in trace.of(StageBegun) if begun.stage == FORWARD), 0)
    peaks = {
        event.step: event.reserved_peak_bytes
        for event in trace.of(Step)
        if event.pid == loader.pid and event.step <= before
    }
    return peaks.get(before, 0) > peaks.get(before // 2, 0)


def _ending(trace: Trace) -> Exit:
    """The launcher's last word, or its stand-in when the launcher itself was killed."""
    exits = trace.of(Exit)
    return exits[-1] if exits else Exit(pid=0, t=0.0, code=None, reason="exited", elapsed_s=0.0)
