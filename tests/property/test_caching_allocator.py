"""The simulated caching allocator and its segments: what holds after any sequence of requests."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from veritasest.analysis.allocator.caching import BLOCK_BYTES, CachingAllocator
from veritasest.analysis.allocator.layouts import Layout, downwards, mixed

MIB = 1 << 20

# Allocate a number of bytes, free one of the live blocks, or give back what is cached.
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("alloc"), st.integers(1, 40 * MIB) | st.sampled_from([4 * MIB, 12 * MIB]), st.integers(0, 1)),
        st.tuples(st.just("free"), st.integers(0, 99), st.just(0)),
        st.tuples(st.just("release"), st.just(0), st.just(0)),
    ),
    max_size=80,
)


@given(OPERATIONS, st.integers(0, 3))
def test_blocks_fill_their_segments_and_free_neighbours_are_merged(
    operations: list[tuple[str, int, int]], seed: int
) -> None:
    segments: dict[int, int] = {}
    layout = Layout(mixed(seed))

    def place(size: int) -> int:
        address = layout.place(size)
        segments[address] = size
        return address

    def give_back(address: int) -> None:
        del segments[address]
        layout.give_back(address)

    allocator = CachingAllocator(place, give_back)
    live: dict[int, int] = {}
    for what, number, stream in operations:
        if what == "alloc":
            address = allocator.allocate(number, stream)
            assert address not in live
            live[address] = number
        elif what == "free" and live:
            address = list(live)[number % len(live)]
            allocator.free(address)
            del live[address]
        elif what == "release":
            allocator.release_cached()
    blocks = sorted(allocator.blocks())
    assert {address for address, _, used in blocks if used} == set(live)
    assert all(size >= live[address] for address, size, used in blocks if used)
    assert all(size % BLOCK_BYTES == 0 for _, size, _ in blocks)
    assert sum(size for _, size, _ in blocks) == sum(segments.values()) == allocator.reserved_bytes
    for (address, size, used), (following, _, next_used) in pairwise(blocks):
        assert address + size <= following
        if following not in segments:
            assert address + size == following
            assert used or next_used


@given(OPERATIONS)
def test_streams_never_share_a_segment(operations: list[tuple[str, int, int]]) -> None:
    layout = Layout(downwards)
    both, alone = CachingAllocator(layout.place), [CachingAllocator(Layout(downwards).place) for _ in range(2)]
    for what, size, stream in operations:
        if what == "alloc":
            both.allocate(size, stream)
            alone[stream].allocate(size, 0)
    assert both.reserved_bytes == sum(one.reserved_bytes for one in alone)


@given(st.lists(st.sampled_from([2, 12, 20, 34, 500]), max_size=60), st.integers(0, 5), st.data())
def test_segments_do_not_overlap_and_fill_gaps_first(sizes: list[int], seed: int, data: st.DataObject) -> None:
    layout = Layout(mixed(seed))
    live: dict[int, int] = {}
    for size in sizes:
        address = layout.place(size * MIB)
        assert all(address + size * MIB <= start or start + taken <= address for start, taken in live.items())
        live[address] = size * MIB
        if data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(sorted(live)))
            layout.give_back(gone)
            del live[gone]
