"""No verdict without evidence: what must be in a trace before it says "fits"."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from traces import header

from veritasest.analysis.peaks import peak
from veritasest.analysis.processes import device_uses
from veritasest.analysis.verdict import classify_run
from veritasest.spec.enums import EndReason, ExitReason
from veritasest.spec.estimate import Undetermined
from veritasest.trace import (
    End,
    Event,
    Exit,
    Gone,
    JobException,
    Killed,
    Library,
    OutOfMemory,
    OwnError,
    Process,
    ProcessExit,
    Refused,
    Segment,
    Step,
    Trace,
    Unmodelled,
)

GPU = {"total_bytes": 1000, "context_bytes": 100}


def trace(*events: Event, unreadable: int = 0, **run: Any) -> Trace:
    """The events in order, one second apart."""
    timed = tuple(replace(event, t=float(second)) for second, event in enumerate(events))
    known = header(**{"limit_bytes": 900, **GPU, **run})
    return Trace(header=known, events=timed, unreadable_lines=unreadable)


def process(pid: int = 1) -> Process:
    return Process(pid=pid, t=0, torch="2.11.0+cu130")


def alloc(size: int, used: int, pid: int = 1) -> Segment:
    return Segment(pid=pid, t=0, op="alloc", device=0, bytes=size, address=0, used_bytes=used)


def free(size: int, used: int, pid: int = 1) -> Segment:
    return replace(alloc(size, used, pid), op="free")


def end(reason: EndReason = EndReason.EXIT, pid: int = 1, allocated: int = 1) -> End:
    return End(pid=pid, t=0, reason=reason, allocated_peak_bytes=allocated, reserved_peak_bytes=allocated)


def left(code: int = 0, pid: int = 1) -> ProcessExit:
    return ProcessExit(pid=pid, t=0, code=code)


def exited(code: int = 0, reason: ExitReason = ExitReason.EXITED) -> Exit:
    return Exit(pid=99, t=0, code=code, reason=reason, elapsed_s=1)


def whole(pid: int = 1, size: int = 10, code: int = 0) -> tuple[Event, ...]:
    """A process as it should be recorded."""
    return process(pid), alloc(size, size, pid), end(pid=pid), left(code, pid)


def doubt(*events: Event, **more: Any) -> Undetermined:
    found = classify_run(trace(*events, **more))
    assert (found.verdict, found.failure, found.settled) == ("undetermined", None, False)
    assert found.undetermined is not None
    assert found.undetermined.hint
    return found.undetermined


def test_a_process_recorded_from_beginning_to_end_fits() -> None:
    found = classify_run(trace(*whole(), exited()))
    assert (found.verdict, found.undetermined, found.warnings) == ("fits", None, ())


def test_without_device_memory_there_is_no_verdict() -> None:
    assert doubt(exited()).reason == doubt(process(), end(), left(), exited()).reason == "no_gpu"


def test_a_timeout_needs_steps_without_a_new_peak() -> None:
    steps = [Step(pid=1, t=0, step=n, allocated_peak_bytes=n, reserved_peak_bytes=n) for n in (1, 2, 3)]
    quiet = [replace(step, allocated_peak_bytes=3, reserved_peak_bytes=3) for step in steps]
    begun, stop = (process(), alloc(10, 10)), exited(-15, ExitReason.TIMEOUT)
    assert "before its first optimizer step" in doubt(*begun, stop).message
    assert "after 3 optimizer steps, before its peak settled" in doubt(*begun, *steps, stop).message
    assert classify_run(trace(*begun, *quiet, stop)).verdict == "fits"


def test_a_launcher_without_ranks_is_distinguished_from_a_slow_script() -> None:
    stop = exited(-15, ExitReason.TIMEOUT)
    assert doubt(stop, command=("/usr/bin/torchrun", "train.py")).reason == "no_ranks"
    assert doubt(stop, command=("python", "-m", "torch.distributed.run", "train.py")).reason == "no_ranks"
    assert doubt(stop, command=("python", "train.py")).reason == "timeout"


def test_a_worker_that_failed_while_the_job_continued_is_named_with_its_cause() -> None:
    refused = Unmodelled(pid=2, t=0, library="cudart", name="cudaIpcOpenMemHandle between processes", how="refused")
    raised = JobException(pid=2, t=0, type="ValueError", message="no data")
    worker = (process(2), alloc(5, 5, 2))
    assert "does not support cudaIpcOpenMemHandle" in doubt(process(2), refused, left(1, 2), *whole(), exited()).message
    assert "ValueError: no data" in doubt(*worker, raised, left(1, 2), *whole(), exited()).message
    memory = OutOfMemory(pid=2, t=0)
    assert "it ran out of memory" in doubt(*worker, memory, left(1, 2), *whole(), exited()).message
    crashed = doubt(*worker, Gone(pid=99, t=0, process=2), *whole(), exited())
    assert (crashed.reason, "killed by a signal" in crashed.message) == ("workers_died", True)


def test_a_process_without_memory_may_kill_itself_but_not_fail() -> None:
    gone = Gone(pid=99, t=0, process=2)
    assert classify_run(trace(process(2), gone, *whole(), exited())).verdict == "fits"
    assert doubt(process(2), left(1, 2), *whole(), exited()).reason == "workers_died"


@pytest.mark.parametrize(
    "ends",
    [
        (Killed(pid=1, t=0, process=2, signal=15), Gone(pid=99, t=0, process=2)),
        (Gone(pid=99, t=0, process=2, by_us=True),),
        (end(pid=2), left(0, 2)),
    ],
    ids=["terminated by its parent", "ended with the run", "exited"],
)
def test_a_worker_that_was_ended_has_not_failed(ends: tuple[Event, ...]) -> None:
    assert classify_run(trace(process(2), alloc(5, 5, 2), *ends, *whole(), exited())).verdict == "fits"


def test_a_process_that_took_memory_without_the_agent_is_not_judged() -> None:
    assert doubt(alloc(5, 5, 2), left(0, 2), *whole(), exited()).reason == "agent_absent"
    refused = Refused(pid=2, t=0, device=0, bytes=1, used_bytes=1, limit_bytes=1)
    assert doubt(alloc(5, 5, 2), refused, left(1, 2), exited(1)).reason == "agent_absent"  # nor blamed


def test_a_process_of_which_nothing_was_recorded_but_its_memory_is_a_gap() -> None:
    found = trace(process(), alloc(10, 10), left(), exited())
    assert (doubt(*found.events).reason, peak(found, 0).allocated_bytes) == ("trace_gap", None)


def test_steps_are_enough_for_a_process_that_ended_by_os_exit() -> None:
    step = Step(pid=1, t=0, step=1, allocated_peak_bytes=4, reserved_peak_bytes=10)
    assert classify_run(trace(process(), alloc(10, 10), step, left(), exited())).verdict == "fits"


@pytest.mark.parametrize(
    "broken",
    [
        (alloc(10, 10), alloc(10, 30)),
        (alloc(10, 20),),
        (alloc(10, 10), free(5, 4)),
        (free(5, 0),),
        (alloc(10, 10), Library(pid=1, t=0, library="cublas", device=0, bytes=5, libraries_bytes=9)),
    ],
)
def test_memory_records_that_do_not_add_up_are_a_gap(broken: tuple[Event, ...]) -> None:
    found = doubt(process(), *broken, end(), left(), exited())
    assert (found.reason, "please report" in found.hint) == ("trace_gap", True)


def test_frees_of_a_process_that_exits_and_a_process_id_used_again_are_no_gap() -> None:
    again = (Gone(pid=99, t=0, process=1), *whole())
    assert classify_run(trace(*whole(), free(10, 0), *again, exited())).verdict == "fits"


def test_lines_that_cannot_be_read_are_a_gap_unless_a_killed_process_left_them() -> None:
    assert doubt(*whole(), exited(), unreadable=1).reason == "trace_gap"
    killed = (process(2), alloc(5, 5, 2), Gone(pid=99, t=0, process=2, by_us=True))
    assert classify_run(trace(*whole(), *killed, exited(), unreadable=1)).verdict == "fits"
    assert doubt(*whole(), *killed, exited(), unreadable=2).reason == "trace_gap"


def own(where: str) -> OwnError:
    return OwnError(pid=1, t=0, where=where, type="KeyError", message="'x'", file="/v/agent/a.py", line=7)


@pytest.mark.parametrize("code", [0, 1])
def test_an_internal_error_is_never_blamed_on_the_job(code: int) -> None:
    found = classify_run(trace(own("values"), *whole(code=code), exited(code)))
    assert found.undetermined is not None
    assert (found.verdict, found.failure, found.undetermined.reason) == ("undetermined", None, "own_error")
    assert "internal error of VeritasEst in values: KeyError: 'x' (a.py:7)" in found.undetermined.message
    assert any("please report" in warning for warning in found.warnings)


def test_an_internal_error_that_only_shortens_the_report_is_a_note() -> None:
    found = classify_run(trace(own("the allocator's history"), *whole(), exited()))
    assert found.verdict == "fits"
    assert "please report" in found.warnings[0]


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (
            (alloc(10, 10), replace(end(allocated=11), reserved_peak_bytes=10)),
            "allocated 11 B, and",
        ),
        (
            (alloc(10, 10), replace(end(), reserved_peak_bytes=11)),
            "reserved 11 B, and",
        ),
        ((alloc(901, 901), end()), "needs 901 B, and was given no more than 900 B"),
        (
            (Library(pid=1, t=0, library="x", device=0, bytes=8, libraries_bytes=8), alloc(893, 893), end()),
            "1001 B were",
        ),
    ],
    ids=["allocated", "reserved", "limit", "device"],
)
def test_figures_that_disagree_are_reported_as_our_fault(events: tuple[Event, ...], said: str) -> None:
    found = doubt(process(), *events, left(), exited())
    assert (found.reason, "please report" in found.hint) == ("invariant", True)
    assert said in found.message


def test_without_a_limit_the_device_has_no_size() -> None:
    assert (
        classify_run(trace(process(), alloc(5000, 5000), end(), left(), exited(), limit_bytes=None)).verdict == "fits"
    )


def settled_worker(*after: Event) -> Trace:
    return trace(process(2), alloc(10, 10, 2), end(EndReason.SETTLED, 2), left(0, 2), *after)


def test_a_supervisor_that_fails_because_its_worker_was_ended_is_ignored() -> None:
    raised = JobException(pid=1, t=0, type="nbclient.exceptions.DeadKernelError", message="Kernel died")
    assert classify_run(settled_worker(raised, exited(1))).verdict == "fits"
    rank = (process(3), alloc(10, 10, 3), JobException(pid=3, t=0, type="DistBackendError"), left(1, 3))
    assert classify_run(settled_worker(*rank, exited(1))).verdict == "fits"


def test_a_failure_before_the_agent_ended_anything_counts() -> None:
    raised = JobException(pid=3, t=0, type="ValueError", message="no data")
    failed = (process(3), alloc(1, 1, 3), raised, left(1, 3))
    assert classify_run(trace(*failed, *settled_worker(exited(1)).events)).verdict == "job_failed"
    assert classify_run(trace(*failed, *settled_worker(exited(0)).events)).verdict == "undetermined"


def test_processes_are_added_up_while_they_live() -> None:
    found = trace(
        *(alloc(10, 10), alloc(20, 20, 2)),  # 30 at once, with two contexts
        *(left(), free(10, 0)),  # what exit gives back is gone already
        *(alloc(5, 5, 3), alloc(1, 21, 2)),  # 26
        *(Gone(pid=99, t=0, process=2), alloc(25, 30, 3), exited()),
    )
    use = device_uses(found)[0]
    assert (use.reserved_bytes, dict(use.held)) == (30, {1: 10, 2: 20})
    assert (use.total_bytes, use.processes, use.most_processes) == (30 + 2 * 100, 2, 2)


def test_libraries_of_all_processes_count_when_the_device_is_fullest() -> None:
    held = [Library(pid=pid, t=0, library="cublas", device=0, bytes=7, libraries_bytes=7) for pid in (1, 2)]
    use = device_uses(trace(alloc(50, 50), held[0], free(40, 10), alloc(20, 20, 2), held[1]))[0]
    # 50 + 7 + 100 alone; 10 + 7 + 100 and 20 + 7 + 100 together.
    assert (use.reserved_bytes, use.total_bytes, use.libraries_bytes) == (50, 244, 14)


def test_allocated_memory_of_several_processes_is_within_what_they_reserved() -> None:
    both = (process(1), process(2), alloc(10, 10, 1), alloc(20, 20, 2), end(allocated=9), end(pid=2, allocated=15))
    assert peak(trace(*both), 0).allocated_bytes == 9 + 15
    assert peak(trace(*both[:-1]), 0).allocated_bytes is None
