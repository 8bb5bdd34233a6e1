"""The allocator's history, replayed: sums that must balance for every history."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from veritasest.analysis.breakdown import breakdown
from veritasest.analysis.peaks import allocated_peaks
from veritasest.analysis.replay import local_peaks, rounded
from veritasest.gpus import find
from veritasest.spec.run import RunSpec
from veritasest.trace import SCHEMA, Blocks, Event, Header, Trace

HEADER = Header(
    schema=SCHEMA,
    created="",
    command=(),
    veritasest="",
    run=RunSpec(gpu=find("h200"), limit_bytes=None),
    allocator_conf=None,
    host={},
)

lifetimes = st.lists(st.tuples(st.booleans(), st.integers(1, 8), st.integers(1, 1 << 22)), max_size=60)


def blocks(actions: str, addresses: list[int], sizes: list[int], **more: Any) -> Blocks:
    known = {"pid": 1, "t": 0.0, "device": 0, "step": 0, **more}
    return Blocks(actions=actions, addresses=tuple(addresses), sizes=tuple(sizes), **known)


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


def peak_allocated(events: list[Event]) -> int:
    return max(allocated_peaks(events).values(), default=0)


@given(lifetimes)
def test_local_peaks_are_positive_and_their_highest_is_the_peak(moves: list[tuple[bool, int, int]]) -> None:
    events = history(moves)
    levels = [live.in_use_bytes for _, _, live in local_peaks(events)]
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
def test_the_shares_add_up_to_the_peak(moves: list[tuple[bool, int, int]]) -> None:
    events = history(moves)
    shares = breakdown(Trace(header=HEADER, events=tuple(events)), 0)
    assert sum(share.bytes for share in shares) == peak_allocated(events)
