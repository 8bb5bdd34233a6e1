"""Books that must balance, and verdicts that must follow from what was seen."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veritasest.analysis import (
    assumed_values,
    composition,
    judge,
    libraries_bytes,
    not_reached,
    observed,
    peak,
    same_course,
    sizes_are_assumed,
    smallest_that_completes,
)
from veritasest.analysis.peaks import allocated_peaks, replay, rounded
from veritasest.trace import (
    Blocks,
    End,
    Event,
    Exit,
    Header,
    JobException,
    Library,
    OutOfMemory,
    Process,
    Refused,
    Roles,
    Segment,
    Step,
    Trace,
    Unmodelled,
)
from veritasest.trace.records import Assumed, Batches, HostMemory, NotReached, StageBegun
from veritasest.trace.records import Observed as ObservedEvent

HEADER = Header(
    schema=1, created="", command=(), veritasest="", gpu={}, limit_bytes=None, allocator_conf=None, host={}, stop={}
)
MIB = 1 << 20


def trace(*events: Event) -> Trace:
    return Trace(header=HEADER, events=events)


def segment(used: int, *, pid: int = 1, device: int = 0) -> Segment:
    return Segment(pid=pid, t=0, op="alloc", device=device, bytes=used, address=0, used_bytes=used)


def step(n: int, reserved: int = 0, *, pid: int = 1, t: float = 0, allocated: int = 0) -> Step:
    return Step(pid=pid, t=t, step=n, allocated_peak_bytes=allocated, reserved_peak_bytes=reserved)


def blocks(actions: str, addresses: list[int], sizes: list[int], **more: Any) -> Blocks:
    known = {"pid": 1, "t": 0.0, "device": 0, "step": 0, **more}
    return Blocks(actions=actions, addresses=tuple(addresses), sizes=tuple(sizes), **known)


def ended(code: int | None, reason: str = "exited") -> Exit:
    return Exit(pid=9, t=9, code=code, reason=reason, elapsed_s=1)


PROCESS = Process(pid=1, t=0, torch="2.11.0+cu130")


def test_the_reserved_peak_is_the_highest_water_mark_and_knows_its_step() -> None:
    found = peak(trace(segment(2 * MIB), step(1), segment(22 * MIB), segment(4 * MIB), step(2), segment(22 * MIB)))
    assert (found.reserved_bytes, found.step) == (22 * MIB, 1)


def test_processes_on_one_device_add_up_and_the_fullest_device_counts() -> None:
    found = peak(trace(segment(5, pid=1), segment(6, pid=2), segment(9, pid=3, device=1)))
    assert (found.reserved_bytes, found.device) == (5 + 6, 0)


def library(held: int, *, pid: int = 1, device: int = 0) -> Library:
    return Library(pid=pid, t=0, library="cublas", device=device, bytes=0, libraries_bytes=held)


def test_what_libraries_hold_is_counted_like_the_jobs_own_memory() -> None:
    held = trace(library(64), library(128), library(8, pid=2), library(64), library(130, pid=3, device=1))
    assert (libraries_bytes(held), libraries_bytes(trace())) == (128 + 8, 0)


def test_an_empty_trace_has_an_empty_peak() -> None:
    assert peak(trace()).reserved_bytes == 0


def test_the_allocators_own_statistic_wins_over_a_smaller_replay() -> None:
    events = (blocks("a", [1], [1000]), step(1, allocated=2048))
    assert allocated_peaks(events) == {(1, 0): 2048}


def test_the_replay_wins_where_the_process_was_killed_after_its_last_step() -> None:
    # 1,000 bytes take two blocks of 512; both live at once: 2 * 1,024.
    events = (step(1, allocated=1024), blocks("aa", [1, 2], [1000, 1000]))
    assert allocated_peaks(events) == {(1, 0): 2048}


lifetimes = st.lists(st.tuples(st.booleans(), st.integers(1, 8), st.integers(1, 1 << 22)), max_size=60)


def history(moves: list[tuple[bool, int, int]], pid: int = 1) -> list[Event]:
    """Turns random moves into a legal history: no double allocation, no free of what is not there."""
    live: dict[int, int] = {}
    events: list[Event] = []
    for allocate, address, size in moves:
        if allocate and address not in live:
            live[address] = size
            events.append(blocks("a", [address], [size], pid=pid))
        elif not allocate and address in live:
            events.append(blocks("r", [address], [live.pop(address)], pid=pid))
    return events


@given(lifetimes)
def test_the_books_balance(moves: list[tuple[bool, int, int]]) -> None:
    events = history(moves)
    levels = [in_use for _, in_use in replay(events)]
    assert all(level > 0 for level in levels)
    assert max(levels, default=0) == allocated_peaks(events).get((1, 0), 0)
    taken = sum(rounded(event.sizes[0]) for event in events if isinstance(event, Blocks) and event.actions == "a")
    assert max(levels, default=0) <= taken


@given(lifetimes, lifetimes, st.randoms(use_true_random=False))
def test_how_two_processes_interleave_does_not_matter(
    one: list[tuple[bool, int, int]], other: list[tuple[bool, int, int]], random: Any
) -> None:
    first, second = history(one, pid=1), history(other, pid=2)
    mixed: list[Event] = []
    queues = [list(first), list(second)]
    while any(queues):
        mixed.append(random.choice([queue for queue in queues if queue]).pop(0))
    assert allocated_peaks(mixed) == allocated_peaks([*first, *second])


@given(lifetimes)
def test_the_parts_add_up_to_the_peak(moves: list[tuple[bool, int, int]]) -> None:
    events = history(moves)
    assert sum(part.bytes for part in composition(trace(*events))) == peak_allocated(events)


def peak_allocated(events: list[Event]) -> int:
    return max(allocated_peaks(events).values(), default=0)


def roles(role: str, addresses: list[int], t: float) -> Roles:
    return Roles(pid=1, t=t, role=role, addresses=tuple(addresses))


def test_the_parts_of_a_peak_in_the_backward_pass_are_told_by_role() -> None:
    events = (
        # A parameter at 0x10000, an activation at 0x20000, its gradient at 0x30000: all live at the end of the phase.
        blocks("aaa", [0x10000, 0x20000, 0x30000], [4096, 8192, 4096], phase="forward_backward", t=1),
        roles("parameters", [0x10000], 1.1),
        roles("gradients", [0x30000], 1.1),
        blocks("ra", [0x20000, 0x40000], [8192, 1024], phase="optimizer", t=2),
        roles("optimizer state", [0x40000], 2.1),
    )
    parts = {part.label: part.bytes for part in composition(trace(*events))}
    assert parts == {"activations, inputs and workspaces": 8192, "parameters": 4096, "gradients": 4096}


def test_the_parts_of_a_peak_in_the_optimizer_step_are_told_by_role() -> None:
    events = (
        blocks("aa", [0x10000, 0x30000], [4096, 4096], phase="forward_backward", t=1),
        roles("parameters", [0x10000], 1.1),
        roles("gradients", [0x30000 + 512], 1.1),  # a view into the middle of the block
        blocks("aa", [0x40000, 0x50000], [8192, 512], phase="optimizer", t=2),
        roles("optimizer state", [0x40000], 2.1),
    )
    parts = {part.label: part.bytes for part in composition(trace(*events))}
    assert parts == {
        "optimizer state": 8192,
        "parameters": 4096,
        "gradients": 4096,
        "temporaries of the optimizer step": 512,
    }


def test_an_activation_at_the_address_of_last_steps_gradient_is_an_activation() -> None:
    events = (
        blocks("a", [0x30000], [512], phase="forward_backward", t=1),
        roles("gradients", [0x30000], 1.1),
        blocks("r", [0x30000], [512], phase="optimizer", t=2),
        blocks("aa", [0x30000, 0x60000], [4096, 4096], phase="forward_backward", t=3),
        roles("gradients", [0x60000], 3.1),
    )
    parts = {part.label: part.bytes for part in composition(trace(*events))}
    assert parts == {"activations, inputs and workspaces": 4096, "gradients": 4096}


def test_exit_code_zero_fits() -> None:
    found = judge(trace(PROCESS, segment(1), ended(0)))
    assert (found.verdict, found.failure, found.settled, found.warnings) == ("fits", None, True, ())


def test_a_torch_that_needs_a_newer_library_function_is_unsupported() -> None:
    error = JobException(pid=1, t=1, type="builtins.ImportError", message="libtorch_cuda.so: undefined symbol: ncclNew")
    found = judge(trace(error, ended(1)))
    assert found.verdict == "unsupported"
    assert found.failure is not None
    assert "ncclNew" in found.failure.message


def test_a_job_that_was_ended_because_its_peak_settled_fits() -> None:
    end = End(pid=1, t=1, reason="settled")
    assert judge(trace(PROCESS, segment(1), end, ended(0))).settled


def test_an_uncaught_out_of_memory_error_does_not_fit_and_names_the_line() -> None:
    oom = OutOfMemory(pid=1, t=2, bytes=3 * MIB, step=1, file="train.py", line=9, code="loss.backward()")
    raised = JobException(pid=1, t=3, type="torch.OutOfMemoryError", message="CUDA out of memory.")
    found = judge(trace(PROCESS, step(1, t=1), oom, raised, ended(1)))
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
def test_a_library_without_room_for_itself_is_out_of_memory(owner: str, pid: int, message: str, verdict: str) -> None:
    refused = Refused(pid=pid, t=1, device=0, bytes=64 * MIB, used_bytes=1, limit_bytes=2, owner=owner)
    raised = JobException(pid=1, t=2, type="RuntimeError", message=message, file="train.py", line=3)
    found = judge(trace(PROCESS, segment(1), refused, raised, ended(1)))
    assert found.verdict == verdict
    if verdict == "does_not_fit":
        assert found.failure is not None
        assert (found.failure.kind, found.failure.requested_bytes, found.failure.line) == ("oom", 64 * MIB, 3)
        assert "cublas" in found.failure.message


def test_an_out_of_memory_error_the_script_survived_is_a_warning() -> None:
    found = judge(trace(PROCESS, segment(1), OutOfMemory(pid=1, t=1), step(1, t=2), ended(0)))
    assert found.verdict == "fits"
    assert "caught the error itself" in found.warnings[0]


def test_one_survived_before_an_unrelated_failure_does_not_count() -> None:
    found = judge(trace(PROCESS, OutOfMemory(pid=1, t=1), step(1, t=2), ended(7)))
    assert found.verdict == "job_failed"


def test_the_jobs_own_exit_code_is_named() -> None:
    found = judge(trace(PROCESS, ended(7)))
    assert found.verdict == "job_failed"
    assert found.failure is not None
    assert "exit code 7" in found.failure.message


def test_a_signal_is_named() -> None:
    found = judge(trace(PROCESS, ended(-9)))
    assert found.failure is not None
    assert (found.verdict, found.failure.kind) == ("job_failed", "signal")
    assert "SIGKILL" in found.failure.message


def test_a_failure_after_a_refused_function_is_unsupported() -> None:
    refused = Unmodelled(pid=1, t=0, library="cusolver", name="cusolverDnXgeev", how="refused")
    found = judge(trace(PROCESS, refused, ended(1)))
    assert found.verdict == "unsupported"
    assert found.failure is not None
    assert "cusolverDnXgeev" in found.failure.message


def test_a_guessed_size_alone_is_not_unsupported() -> None:
    guessed = Unmodelled(pid=1, t=0, library="cufft", name="cufftMakePlan", how="guessed")
    assert judge(trace(PROCESS, guessed, ended(1))).verdict == "job_failed"


def test_a_timeout_after_the_peak_settled_keeps_the_verdict_but_says_so() -> None:
    found = judge(trace(PROCESS, segment(5), step(1, 5), step(2, 5), step(3, 5), ended(-15, "timeout")))
    assert (found.verdict, found.settled) == ("fits", True)
    assert "--timeout after 3 optimizer steps" in found.warnings[0]


def test_a_peak_still_growing_in_the_last_steps_is_not_settled() -> None:
    end = End(pid=1, t=1, reason="steps")
    growing = judge(trace(PROCESS, segment(7), step(1, 5), step(2, 6), step(3, 7), end, ended(0)))
    quiet = judge(trace(PROCESS, segment(7), step(1, 7), step(2, 7), step(3, 7), end, ended(0)))
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
def test_a_peak_is_said_to_grow_only_where_it_grew(peaks: tuple[int, ...], said: str) -> None:
    done = [step(number, peak) for number, peak in enumerate(peaks, start=1)]
    found = judge(trace(PROCESS, segment(9), *done, End(pid=1, t=1, reason="steps"), ended(0)))
    assert (found.verdict, found.settled) == ("fits", False)
    assert said in found.warnings[0]


def loader(**known: Any) -> Batches:
    return Batches(pid=1, t=0, loader=0, **{"handed_out": 12, "signatures": 7, "varied": True, **known})


def about_batches(batches: Batches, *reserved: int) -> tuple[str, ...]:
    done = [step(number, peak) for number, peak in enumerate(reserved, start=1)]
    forward = StageBegun(pid=1, t=0, stage="forward", step=4)
    events = [PROCESS, segment(9), *done, forward, batches, End(pid=1, t=1, reason="settled"), ended(0)]
    return judge(trace(*events)).warnings


def test_batches_that_were_skipped_are_told_with_their_number() -> None:
    skipped = loader(skipped=388, epoch_batches=400)
    (quiet,) = about_batches(skipped, 5, 7, 7, 7, 8)
    assert "7 shapes in 12 batches" in quiet
    assert "the largest of the epoch's 400 batches was run, 388 were skipped" in quiet
    assert "may grow a little further" in quiet
    (growing,) = about_batches(skipped, 5, 6, 7, 8, 9)
    assert "was still growing, and will grow further" in growing


def test_shapes_that_were_still_changing_are_told() -> None:
    (doubt,) = about_batches(loader(still_changing=True, largest_seen=False))
    assert "still changing" in doubt
    assert "--until-exit" in doubt


@pytest.mark.parametrize(
    "known",
    [{"varied": False, "signatures": 1}, {"varied": False, "signatures": 2, "skipped": 300}, {"skipped": 0}],
    ids=["all alike", "a partial last batch", "all were run"],
)
def test_batches_that_leave_no_doubt_are_not_mentioned(known: dict[str, Any]) -> None:
    assert about_batches(loader(**known)) == ()


def test_a_run_is_repeated_from_the_steps_after_which_batches_were_skipped_and_loops_left() -> None:
    begun = [StageBegun(pid=1, t=0, stage=stage, step=step) for stage, step in (("as it is", 3), ("forward", 40))]
    assert same_course(trace(*begun)) == (40, None)
    assert same_course(trace(*begun, StageBegun(pid=1, t=0, stage="leaving", step=90))) == (40, 90)
    assert same_course(trace(loader())) == (None, None)


def test_what_was_observed_is_that_of_the_process_that_did_most() -> None:
    rank, helper = (
        ObservedEvent(pid=pid, t=0, steps=steps, evaluation_batches=seen, checkpoints=steps // 50)
        for pid, steps, seen in ((1, 50, 7), (2, 3, 9))
    )
    found = observed(trace(rank, helper, End(pid=1, t=1, reason="exit")))
    assert (found.training_steps, found.evaluation_batches, found.checkpoints) == (50, 9, 1)
    assert (found.to_the_end, found.fast_forwarded) == (True, False)


def test_each_place_that_was_not_reached_is_named_once() -> None:
    events = [NotReached(pid=pid, t=pid, what="test()", file="train.py", line=9) for pid in (1, 2)]
    (missed,) = not_reached(trace(*events))
    assert (missed.what, missed.file, missed.line) == ("test()", "train.py", 9)


def test_a_refused_allocation_is_pressure() -> None:
    refused = Refused(pid=1, t=0, device=0, bytes=1, used_bytes=1, limit_bytes=1)
    assert judge(trace(PROCESS, segment(1), refused, ended(0))).pressed


def test_a_trace_without_its_last_line_is_a_failed_job() -> None:
    assert judge(trace(PROCESS, segment(1))).verdict == "job_failed"


@given(st.integers(1, 10**11), st.floats(1.0, 1.6), st.floats(0, 1))
def test_the_bisection_finds_the_threshold_within_its_tolerance(allocated: int, spread: float, at: float) -> None:
    reserved = round(allocated * spread)
    threshold = round(allocated + at * (reserved - allocated))
    runs: list[int] = []

    def completes(limit: int) -> bool:
        runs.append(limit)
        return limit >= threshold

    found = smallest_that_completes(fails_bytes=allocated, completes_bytes=reserved, completes=completes)
    assert found >= threshold
    # 60 % halved eight times is 0.23 %: the tolerance is reached with the runs allowed.
    assert found - threshold <= 0.0025 * found + 1
    assert len(runs) <= 8


@pytest.mark.parametrize("code", [0, 1, -9, None])
def test_every_ending_has_a_verdict(code: int | None) -> None:
    assert judge(trace(ended(code))).verdict in ("undetermined", "job_failed")


def read(how: str, line: int, **more: Any) -> Assumed:
    return Assumed(pid=1, t=0, how=how, operator="nonzero", file="train.py", line=line, **more)


def test_lines_that_read_unknown_values_are_listed_once_each_and_sizes_first() -> None:
    events = [read("copy", 9), read("number", 7, value=0.5), read("size", 8), read("number", 7, value=0.25, reads=3)]
    events += [read("size", 9, value=12), read("copy", 9, reads=50)]
    found = [
        (one.how, one.line, one.value, one.reads) for one in assumed_values(trace(*events[:3]), trace(*events[3:]))
    ]
    assert found == [("size", 9, 12, 1), ("size", 8, None, 1), ("number", 7, 0.5, 3)]


def test_only_sizes_hang_on_assumed_values() -> None:
    assert not sizes_are_assumed(trace(read("number", 7), read("copy", 8)))
    assert sizes_are_assumed(trace(read("number", 7), read("size", 8)))
    assert assumed_values(trace(PROCESS)) == ()


def test_real_values_that_the_host_cannot_hold_are_no_verdict_on_the_job() -> None:
    refused = HostMemory(pid=1, t=1, bytes=5 * MIB, limit_bytes=64 * MIB)
    found = judge(trace(PROCESS, segment(1), refused, ended(75)))
    assert found.failure is not None
    assert (found.verdict, found.failure.kind, found.failure.requested_bytes) == ("unsupported", "host_memory", 5 * MIB)
    assert "64.00 MiB" in found.failure.message
    assert "--host-memory" in found.failure.message
