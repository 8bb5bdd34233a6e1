"""Whether what was observed is enough for a verdict. If not: why, and what to do next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from veritasest.analysis.invariants import gaps, violations
from veritasest.analysis.peaks import reporting
from veritasest.analysis.processes import endings, gpu_processes, stopped_at
from veritasest.spec.enums import ExitReason
from veritasest.spec.estimate import Undetermined
from veritasest.trace import Exit, JobException, OutOfMemory, OwnError, Process, Segment, Step, Trace, Unmodelled
from veritasest.units import format_bytes

REPORT = "this is a fault of VeritasEst: please report it, with the recording"

# Parts of the agent that add to the report, or move the job on to what has not run yet. The peak is known without them,
# and what was not reached is listed.
_ONLY_REPORTED = frozenset(
    {
        "the allocator's history",
        "the list of what is not modelled",
        "the list of assumed values",
        "the record of the job's exception",
        "the roles of tensors",
        "following the job's loops",
        "moving the job on",
        "leaving the job's loops",
    }
)
_LAUNCHERS = {"torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate", "deepspeed", "mpirun"}


def doubt_about_fit(trace: Trace, ending: Exit, *, quiet: bool) -> Undetermined | None:
    """Why "fits" cannot be claimed. `quiet`: no new peak in the last optimizer steps."""
    checks: tuple[Callable[[], Undetermined | None], ...] = (
        lambda: doubt_about_us(trace),
        lambda: _nothing_seen(trace, ending),
        lambda: _too_early(trace, ending, quiet),
        lambda: _workers_died(trace),
        lambda: _unobserved(trace),
        lambda: _gap(trace),
        lambda: _violation(trace),
    )
    return next((found for check in checks if (found := check()) is not None), None)


def doubt_about_us(trace: Trace) -> Undetermined | None:
    """Faults of VeritasEst, for which no job is blamed: an error of its own, or a process without the agent."""
    for error in trace.of(OwnError):
        if error.where not in _ONLY_REPORTED:
            return Undetermined(reason="own_error", message=describe_own(error), hint=REPORT)
    observed = {process.pid for process in trace.of(Process)}
    for segment in trace.of(Segment):
        if segment.pid not in observed:
            return Undetermined(
                reason="agent_absent",
                message=f"process {segment.pid} used device memory, but VeritasEst could not observe it",
                hint="VeritasEst observes Python processes that inherit the environment; python -I, -E and -S may "
                "prevent that: run the script without them",
            )
    return None


def describe_own(error: OwnError) -> str:
    place = f" ({Path(error.file).name}:{error.line})" if error.file else ""
    return f"internal error of VeritasEst in {error.where}: {error.type}: {error.message}{place}"


def failed_workers(trace: Trace) -> tuple[int, ...]:
    """Processes that used the GPU and failed before we ended any. Of those that died of a signal only the ones that had
    memory, or were refused something: torch.compile's helpers initialise CUDA, and kill themselves when done."""
    stop = stopped_at(trace)
    matter = {event.pid for event in trace.of(Unmodelled) if event.how == "refused"}
    matter.update(event.pid for event in trace.of(Segment))
    initialised = matter.union(gpu_processes(trace))
    return tuple(
        pid
        for pid, end in endings(trace).items()
        if end.is_failure and pid in (matter if end.code is None else initialised) and (stop is None or end.t < stop)
    )


def _nothing_seen(trace: Trace, ending: Exit) -> Undetermined | None:
    if trace.of(Segment):
        return None
    if ending.reason is ExitReason.TIMEOUT and _LAUNCHERS & {Path(word).name for word in trace.header.command[:4]}:
        return Undetermined(
            reason="no_ranks",
            message="the launcher started no process that used the GPU before --timeout",
            hint="if it waits for other nodes, estimate one node: --nnodes 1",
        )
    if ending.reason is ExitReason.TIMEOUT:
        return Undetermined(
            reason="timeout",
            message="--timeout ended the job before it used the GPU",
            hint="use a longer --timeout",
        )
    return Undetermined(
        reason="no_gpu",
        message="the job never used the GPU",
        hint="check that the script moves its model to 'cuda', and that this command starts it",
    )


def _too_early(trace: Trace, ending: Exit, quiet: bool) -> Undetermined | None:
    if ending.reason is not ExitReason.TIMEOUT or quiet or stopped_at(trace) is not None:
        return None
    done = max((step.step for step in trace.of(Step)), default=0)
    seen = f"after {done} optimizer steps, before its peak settled" if done else "before its first optimizer step"
    return Undetermined(
        reason="timeout", message=f"--timeout ended the job {seen}", hint="use a longer --timeout, or a smaller job"
    )


def _workers_died(trace: Trace) -> Undetermined | None:
    failed = failed_workers(trace)
    if not failed:
        return None
    first, ending = failed[0], endings(trace)[failed[0]]
    how = "was killed by a signal" if ending.code is None else f"ended with exit code {ending.code}"
    many = f"{len(failed)} processes that used the GPU failed" if len(failed) > 1 else f"process {first} {how}"
    return Undetermined(
        reason="workers_died",
        message=f"{many} while the job continued{_cause(trace, first)}",
        hint="the memory they would have used is not in this estimate; see their output above",
    )


def _cause(trace: Trace, process: int) -> str:
    refused = [event.name for event in trace.of(Unmodelled) if event.pid == process and event.how == "refused"]
    raised = [event for event in trace.of(JobException) if event.pid == process]
    if refused:
        return f": the emulated device does not support {', '.join(refused)}"
    if raised:
        return f": {raised[-1].type}: {raised[-1].message}"
    return ": it ran out of memory" if any(event.pid == process for event in trace.of(OutOfMemory)) else ""


def _unobserved(trace: Trace) -> Undetermined | None:
    """The agent was there when the process began to use the GPU, and wrote nothing more although it ended normally."""
    known = reporting(trace.events)
    ended = {pid for pid, end in endings(trace).items() if end.code == 0}
    silent = [event for event in trace.of(Segment) if event.pid in ended and event.pid not in known]
    if not silent:
        return None
    held = max(event.used_bytes for event in silent)
    return Undetermined(
        reason="trace_gap",
        message=f"process {silent[0].pid} used {format_bytes(held)} of device memory, and left no further records",
        hint="if the job forked it, use the 'spawn' start method; otherwise please report this, with the recording",
    )


def _gap(trace: Trace) -> Undetermined | None:
    for found in gaps(trace):
        return Undetermined(reason="trace_gap", message=f"the trace has gaps: {found}", hint=REPORT)
    return None


def _violation(trace: Trace) -> Undetermined | None:
    for found in violations(trace):
        return Undetermined(reason="invariant", message=f"figures disagree: {found}", hint=REPORT)
    return None
