"""PyTorch's caching allocator, as a pure simulation: which block serves a request, and what is reserved for it.

The rules are those of `c10/cuda/CUDACachingAllocator.cpp` (torch 2.4 to 2.11) with default settings. Requests are
rounded to 512 bytes. Up to 1 MiB they come from 2 MiB segments (the small pool), below 10 MiB from 20 MiB segments,
larger ones from segments rounded to 2 MiB. The smallest free block of the stream and pool that is large enough serves a
request, the one at the lowest address among equals. It is split where enough is left over; free neighbours are merged.

Evidence: every address in four histories recorded on an H200, and in those of the integration tests, is reproduced.

Known limitations: `expandable_segments`, `max_split_size_mb`, `roundup_power2_divisions`, garbage collection and the
private pools of CUDA graphs are not simulated. A history made with them is not reproduced; see `history.reproduces`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator

# Our names for kMinBlockSize, kSmallSize, kSmallBuffer, kMinLargeAlloc, kLargeBuffer and kRoundLarge.
BLOCK_BYTES = 512
SMALL_REQUEST = 1 << 20
SMALL_SEGMENT = 2 << 20
LARGE_REQUEST = 10 << 20
LARGE_SEGMENT = 20 << 20
SEGMENT_GRANULE = 2 << 20


class Block:
    """A piece of a segment. `pool` is None while it is in use."""

    __slots__ = ("address", "next", "pool", "previous", "segment", "size")

    def __init__(self, address: int, size: int, segment: int) -> None:
        self.address = address
        self.size = size
        self.segment = segment
        self.previous: Block | None = None
        self.next: Block | None = None
        self.pool: list[tuple[int, int]] | None = None


class CachingAllocator:
    """`place(bytes)` says at which address, above 0, the device puts a new segment; `give_back(address)` hears of those
    that are released. `ties` counts requests that free blocks of one size in several segments could have served: there
    addresses decided."""

    def __init__(self, place: Callable[[int], int], give_back: Callable[[int], object] = int) -> None:
        self._place = place
        self._give_back = give_back
        self._pools: dict[tuple[int, bool], list[tuple[int, int]]] = {}
        self._free: dict[int, Block] = {}
        self._used: dict[int, tuple[Block, list[tuple[int, int]]]] = {}
        self.reserved_bytes = 0
        self.peak_bytes = 0
        self.ties = 0

    def allocate(self, request: int, stream: int) -> int:
        size = max(-(-request // BLOCK_BYTES), 1) * BLOCK_BYTES
        small = size <= SMALL_REQUEST
        pool = self._pools.setdefault((stream, small), [])
        at = bisect_left(pool, (size, 0))
        block = self._take(pool, at) if at < len(pool) else self._new_segment(size)
        rest = block.size - size
        if rest >= BLOCK_BYTES if small else rest > SMALL_REQUEST:
            self._split(block, size, pool)
        self._used[block.address] = (block, pool)
        return block.address

    def free(self, address: int) -> None:
        block, pool = self._used.pop(address)
        previous, following = block.previous, block.next
        if previous is not None and previous.pool is not None:
            self._withdraw(previous)
            previous.size += block.size
            previous.next = following
            if following is not None:
                following.previous = previous
            block = previous
        if following is not None and following.pool is not None:
            self._withdraw(following)
            block.size += following.size
            block.next = following.next
            if block.next is not None:
                block.next.previous = block
        self._offer(block, pool)

    def release_cached(self) -> set[int]:
        """Gives back every segment without a block in use, and returns their addresses: `empty_cache`."""
        whole = [block for block in self._free.values() if block.previous is None and block.next is None]
        for block in whole:
            self._withdraw(block)
            self.reserved_bytes -= block.size
            self._give_back(block.address)
        return {block.address for block in whole}

    def blocks(self) -> Iterator[tuple[int, int, bool]]:
        """Address and size of every block, and whether it is in use."""
        for block in self._free.values():
            yield block.address, block.size, False
        for block, _ in self._used.values():
            yield block.address, block.size, True

    def _take(self, pool: list[tuple[int, int]], at: int) -> Block:
        size, address = pool.pop(at)
        block = self._free.pop(address)
        block.pool = None
        while at < len(pool) and pool[at][0] == size:
            if self._free[pool[at][1]].segment != block.segment:
                self.ties += 1
                break
            at += 1
        return block

    def _new_segment(self, size: int) -> Block:
        if size <= SMALL_REQUEST:
            size = SMALL_SEGMENT
        elif size < LARGE_REQUEST:
            size = LARGE_SEGMENT
        else:
            size = -(-size // SEGMENT_GRANULE) * SEGMENT_GRANULE
        address = self._place(size)
        self.reserved_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.reserved_bytes)
        return Block(address, size, address)

    def _split(self, block: Block, size: int, pool: list[tuple[int, int]]) -> None:
        rest = Block(block.address + size, block.size - size, block.segment)
        rest.previous, rest.next = block, block.next
        if rest.next is not None:
            rest.next.previous = rest
        block.next = rest
        block.size = size
        self._offer(rest, pool)

    def _offer(self, block: Block, pool: list[tuple[int, int]]) -> None:
        block.pool = pool
        self._free[block.address] = block
        insort(pool, (block.size, block.address))

    def _withdraw(self, block: Block) -> None:
        assert block.pool is not None
        del block.pool[bisect_left(block.pool, (block.size, block.address))]
        del self._free[block.address]
        block.pool = None
