"""From what one run showed to its verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from veritasest.analysis.doubts import doubt_about_fit, doubt_about_us, failed_workers
from veritasest.analysis.failures import fatal_oom, host_memory_failure, own_failure
from veritasest.analysis.processes import gpu_processes, stopped_at
from veritasest.analysis.run_warnings import run_warnings
from veritasest.analysis.settled import is_quiet, settled
from veritasest.spec.enums import ExitReason, Verdict
from veritasest.spec.estimate import Failure, Undetermined
from veritasest.trace import Exit, JobException, Refused, Trace, Unmodelled

# A library function newer than our tables: the loader names it when torch is imported.
_MISSING_SYMBOL = re.compile(r"undefined symbol: ((?:cu|nccl|nvml)\w+)")
WAS_INTERRUPTED = Undetermined(reason="interrupted", message="the estimate was interrupted", hint="run it again")


@dataclass(frozen=True, kw_only=True)
class RunVerdict:
    """`had_alloc_retries`: some allocation was refused at first, so the peak is lower than without a limit."""

    verdict: Verdict
    failure: Failure | None
    undetermined: Undetermined | None
    settled: bool
    had_alloc_retries: bool
    warnings: tuple[str, ...]


def classify_run(trace: Trace) -> RunVerdict:
    ending = ending_of(trace)
    verdict, failure = _verdict(trace, ending)
    doubt = _doubt(trace, ending, verdict)
    if doubt is not None:
        verdict, failure = Verdict.UNDETERMINED, None
    return RunVerdict(
        verdict=verdict,
        failure=failure,
        undetermined=doubt,
        settled=verdict is Verdict.FITS and settled(trace, ending),
        had_alloc_retries=bool(trace.of(Refused)),
        warnings=tuple(run_warnings(trace, ending, verdict)),
    )


def ending_of(trace: Trace) -> Exit:
    """The launcher's last record, or a substitute if the launcher itself was killed."""
    exits = trace.of(Exit)
    return exits[-1] if exits else Exit(code=None, reason=ExitReason.EXITED, elapsed_s=0.0)


def _doubt(trace: Trace, ending: Exit, verdict: Verdict) -> Undetermined | None:
    if ending.reason is ExitReason.INTERRUPTED:
        return WAS_INTERRUPTED
    if verdict is Verdict.FITS:
        return doubt_about_fit(trace, ending, quiet=is_quiet(trace))
    return doubt_about_us(trace) if verdict is Verdict.JOB_FAILED else None


def _verdict(trace: Trace, ending: Exit) -> tuple[Verdict, Failure | None]:
    if host := host_memory_failure(trace, ending):
        return Verdict.UNSUPPORTED, host
    if oom := fatal_oom(trace, ending):
        return Verdict.DOES_NOT_FIT, oom
    if ending.reason is ExitReason.TIMEOUT or ending.code == 0 or _stopped_well(trace):
        return Verdict.FITS, None
    raised = trace.of(JobException)
    failure = own_failure(raised, ending)
    refused = [f"{event.library}: {event.name}" for event in trace.of(Unmodelled) if event.how == "refused"]
    refused += [found[1] for event in raised if (found := _MISSING_SYMBOL.search(event.message))]
    if refused:
        names = ", ".join(refused)
        message = f"the job called functions the emulated device does not support ({names}): {failure.message}"
        return Verdict.UNSUPPORTED, replace(failure, message=message)
    return Verdict.JOB_FAILED, failure


def _stopped_well(trace: Trace) -> bool:
    """Whether the agent ended a process because enough was observed, and none that used the GPU had failed before. How
    others react to that end does not matter: nbconvert and Ray call it a failure of their worker, and fail."""
    stop = stopped_at(trace)
    if stop is None:
        return False
    used = gpu_processes(trace)
    raised = any(event.t < stop and event.pid in used for event in trace.of(JobException))
    return not raised and not failed_workers(trace)
