"""From what one run showed to its verdict."""

from __future__ import annotations

import pytest
from traces import MIB, trace

from veritasest.analysis.verdict import classify_run
from veritasest.spec.enums import EndReason, ExitReason
from veritasest.trace import (
    End,
    Exit,
    HostMemory,
    JobException,
    OutOfMemory,
    Process,
    Refused,
    Segment,
    Step,
    Unmodelled,
)

PROCESS = Process(pid=1, t=0, torch="2.11.0+cu130")


def segment(used: int, *, pid: int = 1, device: int = 0) -> Segment:
    return Segment(pid=pid, t=0, op="alloc", device=device, bytes=used, address=0, used_bytes=used)


def step(n: int, reserved: int = 0, *, pid: int = 1, t: float = 0, allocated: int = 0) -> Step:
    return Step(pid=pid, t=t, step=n, allocated_peak_bytes=allocated, reserved_peak_bytes=reserved)


def ended(code: int | None, reason: ExitReason = ExitReason.EXITED) -> Exit:
    return Exit(pid=9, t=9, code=code, reason=reason, elapsed_s=1)


def test_exit_code_zero_fits() -> None:
    found = classify_run(trace(PROCESS, segment(1), ended(0)))
    assert (found.verdict, found.failure, found.settled, found.warnings) == ("fits", None, True, ())


def test_a_torch_that_needs_a_newer_library_function_is_unsupported() -> None:
    error = JobException(pid=1, t=1, type="ImportError", message="libtorch_cuda.so: undefined symbol: ncclNew")
    found = classify_run(trace(error, ended(1)))
    assert found.verdict == "unsupported"
    assert found.failure is not None
    assert "ncclNew" in found.failure.message


def test_a_job_that_was_ended_because_its_peak_settled_fits() -> None:
    end = End(pid=1, t=1, reason=EndReason.SETTLED)
    assert classify_run(trace(PROCESS, segment(1), end, ended(0))).settled


def test_an_exception_is_named_as_python_prints_it() -> None:
    raised = JobException(pid=1, t=1, type="ValueError", message="no data", file="train.py", line=3)
    found = classify_run(trace(PROCESS, raised, ended(1)))
    assert found.failure is not None
    assert (found.verdict, found.failure.message) == ("job_failed", "ValueError: no data")


def test_an_uncaught_out_of_memory_error_does_not_fit_and_names_the_line() -> None:
    oom = OutOfMemory(pid=1, t=2, bytes=3 * MIB, step=1, file="train.py", line=9, code="loss.backward()")
    raised = JobException(pid=1, t=3, type="torch.OutOfMemoryError", message="CUDA out of memory.")
    found = classify_run(trace(PROCESS, step(1, t=1), oom, raised, ended(1)))
    assert found.verdict == "does_not_fit"
    assert found.failure is not None
    assert (found.failure.requested_bytes, found.failure.step, found.failure.line) == (3 * MIB, 1, 9)
    assert "3.00 MiB" in found.failure.message


@pytest.mark.parametrize(
    ("owner", "pid", "message", "verdict"),
    [
        ("cublas", 1, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "does_not_fit"),
        ("job", 1, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "job_failed"),
        ("cublas", 2, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "job_failed"),
        ("cublas", 1, "division by zero", "job_failed"),
    ],
)
def test_a_library_that_cannot_allocate_its_memory_is_out_of_memory(
    owner: str, pid: int, message: str, verdict: str
) -> None:
    refused = Refused(pid=pid, t=1, device=0, bytes=64 * MIB, used_bytes=1, limit_bytes=2, owner=owner)
    raised = JobException(pid=1, t=2, type="RuntimeError", message=message, file="train.py", line=3)
    found = classify_run(trace(PROCESS, segment(1), refused, raised, ended(1)))
    assert found.verdict == verdict
    if verdict == "does_not_fit":
        assert found.failure is not None
        assert (found.failure.kind, found.failure.requested_bytes, found.failure.line) == ("oom", 64 * MIB, 3)
        assert "out of memory: cuBLAS could not allocate its 64.00 MiB" in found.failure.message


def test_an_out_of_memory_error_that_the_script_caught_is_a_warning() -> None:
    found = classify_run(trace(PROCESS, segment(1), OutOfMemory(pid=1, t=1), step(1, t=2), ended(0)))
    assert found.verdict == "fits"
    assert "the script caught an out-of-memory error and continued" in found.warnings[0]


def test_an_out_of_memory_error_before_an_unrelated_failure_does_not_count() -> None:
    found = classify_run(trace(PROCESS, OutOfMemory(pid=1, t=1), step(1, t=2), ended(7)))
    assert found.verdict == "job_failed"


def test_the_exit_code_of_the_job_is_named() -> None:
    found = classify_run(trace(PROCESS, ended(7)))
    assert found.verdict == "job_failed"
    assert found.failure is not None
    assert "exit code 7" in found.failure.message


def test_a_signal_is_named() -> None:
    found = classify_run(trace(PROCESS, ended(-9)))
    assert found.failure is not None
    assert (found.verdict, found.failure.kind) == ("job_failed", "signal")
    assert "SIGKILL" in found.failure.message


def test_a_failure_after_a_refused_function_is_unsupported() -> None:
    refused = Unmodelled(pid=1, t=0, library="cusolver", name="cusolverDnXgeev", how="refused")
    found = classify_run(trace(PROCESS, refused, ended(1)))
    assert found.verdict == "unsupported"
    assert found.failure is not None
    assert "cusolverDnXgeev" in found.failure.message


def test_a_guessed_size_alone_is_not_unsupported() -> None:
    guessed = Unmodelled(pid=1, t=0, library="cufft", name="cufftMakePlan", how="guessed")
    assert classify_run(trace(PROCESS, guessed, ended(1))).verdict == "job_failed"


def test_a_timeout_after_the_peak_settled_keeps_the_verdict_but_says_so() -> None:
    found = classify_run(trace(PROCESS, segment(5), step(1, 5), step(2, 5), step(3, 5), ended(-15, ExitReason.TIMEOUT)))
    assert (found.verdict, found.settled) == ("fits", True)
    assert "--timeout after 3 optimizer steps" in found.warnings[0]


def test_a_peak_still_growing_in_the_last_steps_is_not_settled() -> None:
    end = End(pid=1, t=1, reason=EndReason.STEPS)
    growing = classify_run(trace(PROCESS, segment(7), step(1, 5), step(2, 6), step(3, 7), end, ended(0)))
    quiet = classify_run(trace(PROCESS, segment(7), step(1, 7), step(2, 7), step(3, 7), end, ended(0)))
    assert (growing.settled, quiet.settled) == (False, True)
    assert "still growing in the last of 3 steps" in growing.warnings[0]


@pytest.mark.parametrize(
    ("peaks", "said"),
    [
        ((5,), "1 step is too few"),
        ((5, 5), "2 steps are too few"),
        ((5, 6), "still growing in the last of 2 steps"),
    ],
)
def test_growth_of_the_peak_is_claimed_only_where_it_grew(peaks: tuple[int, ...], said: str) -> None:
    done = [step(number, peak) for number, peak in enumerate(peaks, start=1)]
    found = classify_run(trace(PROCESS, segment(9), *done, End(pid=1, t=1, reason=EndReason.STEPS), ended(0)))
    assert (found.verdict, found.settled) == ("fits", False)
    assert said in found.warnings[0]


def test_a_refused_allocation_means_allocation_retries() -> None:
    refused = Refused(pid=1, t=0, device=0, bytes=1, used_bytes=1, limit_bytes=1)
    assert classify_run(trace(PROCESS, segment(1), refused, ended(0))).had_alloc_retries


def test_a_trace_without_its_last_line_is_a_failed_job() -> None:
    assert classify_run(trace(PROCESS, segment(1))).verdict == "job_failed"


@pytest.mark.parametrize("code", [0, 1, -9, None])
def test_every_ending_has_a_verdict(code: int | None) -> None:
    assert classify_run(trace(ended(code))).verdict in ("undetermined", "job_failed")


def test_real_values_that_the_host_cannot_hold_are_no_verdict_on_the_job() -> None:
    refused = HostMemory(pid=1, t=1, bytes=5 * MIB, limit_bytes=64 * MIB)
    found = classify_run(trace(PROCESS, segment(1), refused, ended(75)))
    assert found.failure is not None
    assert (found.verdict, found.failure.kind, found.failure.requested_bytes) == ("unsupported", "host_memory", 5 * MIB)
    assert "64.00 MiB" in found.failure.message
    assert found.failure.hint is not None
    assert "--host-memory" in found.failure.hint
