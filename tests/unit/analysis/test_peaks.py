"""Peaks of reserved and allocated memory, and what libraries hold."""

from __future__ import annotations

from typing import Any

from traces import MIB, trace

from veritasest.analysis.peaks import allocated_peaks, devices_by_use, library_overhead_bytes, peak
from veritasest.trace import Blocks, Library, Segment, Step


def segment(used: int, *, pid: int = 1, device: int = 0) -> Segment:
    return Segment(pid=pid, t=0, op="alloc", device=device, bytes=used, address=0, used_bytes=used)


def step(n: int, reserved: int = 0, *, pid: int = 1, t: float = 0, allocated: int = 0) -> Step:
    return Step(pid=pid, t=t, step=n, allocated_peak_bytes=allocated, reserved_peak_bytes=reserved)


def blocks(actions: str, addresses: list[int], sizes: list[int], **more: Any) -> Blocks:
    known = {"pid": 1, "t": 0.0, "device": 0, "step": 0, **more}
    return Blocks(actions=actions, addresses=tuple(addresses), sizes=tuple(sizes), **known)


def library(held: int, *, pid: int = 1, device: int = 0) -> Library:
    return Library(pid=pid, t=0, library="cublas", device=device, bytes=0, libraries_bytes=held)


def test_the_reserved_peak_is_the_highest_level_and_has_its_step() -> None:
    events = (segment(2 * MIB), step(1), segment(22 * MIB), segment(4 * MIB), step(2), segment(22 * MIB))
    found = peak(trace(*events), 0)
    assert (found.reserved_bytes, found.step) == (22 * MIB, 1)


def test_processes_on_one_device_add_up_and_the_fullest_device_comes_first() -> None:
    found = trace(segment(5, pid=1), segment(6, pid=2), segment(9, pid=3, device=1))
    assert devices_by_use(found) == (0, 1)
    assert [peak(found, device).reserved_bytes for device in (0, 1)] == [5 + 6, 9]


def test_what_libraries_hold_is_counted_like_the_jobs_own_memory() -> None:
    held = trace(library(64), library(128), library(8, pid=2), library(64), library(130, pid=3, device=1))
    assert (library_overhead_bytes(held), library_overhead_bytes(trace())) == (128 + 8, 0)


def test_an_empty_trace_has_an_empty_peak() -> None:
    assert peak(trace(), 0).reserved_bytes == 0


def test_the_statistic_of_the_allocator_wins_over_a_smaller_replay() -> None:
    events = (blocks("a", [1], [1000]), step(1, allocated=2048))
    assert allocated_peaks(events) == {(1, 0): 2048}


def test_the_replay_wins_where_the_process_was_killed_after_its_last_step() -> None:
    # 1,000 bytes take two blocks of 512; both live at once: 2 * 1,024.
    events = (step(1, allocated=1024), blocks("aa", [1, 2], [1000, 1000]))
    assert allocated_peaks(events) == {(1, 0): 2048}
