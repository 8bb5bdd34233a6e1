"""Why a job did not complete."""

from __future__ import annotations

import re
import signal

from veritasest.analysis.processes import ended_by_agent
from veritasest.spec.enums import ExitReason
from veritasest.spec.estimate import Failure
from veritasest.trace import Exit, HostMemory, JobException, OutOfMemory, Refused, Step, Trace
from veritasest.units import format_bytes

_ALLOCATION_FAILED = re.compile(r"ALLOC_FAILED|out of memory")
_LIBRARIES = {"cublas": "cuBLAS", "cublasLt": "cuBLASLt", "cudnn": "cuDNN", "cufft": "cuFFT", "nccl": "NCCL"}


def host_memory_failure(trace: Trace, ending: Exit) -> Failure | None:
    for event in trace.of(HostMemory):
        return Failure(
            kind="host_memory",
            message=f"real values need more than the {format_bytes(event.limit_bytes)} of host memory they may use",
            hint="allow more with --host-memory, or compute one part of the model with --values real:MODULE",
            requested_bytes=event.bytes,
            exit_code=ending.code,
        )
    return None


def fatal_oom(trace: Trace, ending: Exit) -> Failure | None:
    """The out-of-memory error that ended the job: one that no step followed, in a job that ended badly."""
    if ending.code == 0 and ending.reason is ExitReason.EXITED:
        return None
    ended_well = ended_by_agent(trace)
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
    """A library that cannot allocate its own memory raises its own error: CUBLAS_STATUS_ALLOC_FAILED."""
    refused = {event.pid: event for event in trace.of(Refused) if event.owner != "job"}
    for raised in trace.of(JobException):
        event = refused.get(raised.pid)
        if event is not None and _ALLOCATION_FAILED.search(raised.message):
            library = _LIBRARIES.get(event.owner, event.owner)
            return Failure(
                kind="oom",
                message=f"out of memory: {library} could not allocate its {format_bytes(event.bytes)}",
                requested_bytes=event.bytes,
                file=raised.file,
                line=raised.line,
                exit_code=ending.code,
            )
    return None


def _oom_failure(oom: OutOfMemory, ending: Exit) -> Failure:
    asked = format_bytes(oom.bytes) if oom.bytes is not None else "more memory"
    steps = "before the first optimizer step" if not oom.step else f"after {oom.step} optimizer steps"
    if oom.step == 1:
        steps = "after 1 optimizer step"
    return Failure(
        kind="oom",
        message=f"out of memory allocating {asked}, {steps}",
        requested_bytes=oom.bytes,
        step=oom.step,
        file=oom.file,
        line=oom.line,
        code=oom.code,
        exit_code=ending.code,
    )


def own_failure(raised: tuple[JobException, ...], ending: Exit) -> Failure:
    """What the job itself did wrong."""
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
