"""Where a driver may put segments: address orders that differ from run to run.

What is known (recorded on an H200; benchmarks/LOG.md, "Where the driver puts device memory"): the driver takes ranges
of whole 32 MiB from the process's own address space, each in the highest hole with room for it, and places an
allocation at the lowest address where a gap in its ranges is large enough. Most ranges lie below all earlier ones.
Those of the first seconds do not: they fall into holes that the host's own mappings leave, and which holes there are
differs between two runs of one job. In eight recorded runs about half of the first twelve ranges lay above an earlier
one, and one in twenty of the later ones; of three jobs recorded twice, two to four of the first twelve changed their
order.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from random import Random

RANGE_BYTES = 32 << 20
FIRST_RANGES = 12
SHARE_IN_HOLES_FIRST = 0.5
SHARE_IN_HOLES_LATER = 0.05

# Wide enough apart that there is always room between two ranges, however often one is put there.
_SPACING = 1 << 120
_TOP = 1 << 140


Order = Callable[[Sequence[int]], int]  # from the starts of the ranges there are, ascending, to that of the next


class Layout:
    """Addresses for one run: an allocation goes to the lowest gap of a range, else to a new one, where `order` says."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._starts: list[int] = []
        self._ranges: dict[int, _Range] = {}
        self._range_of: dict[int, _Range] = {}

    def place(self, size: int) -> int:
        for start in self._starts:
            address = self._ranges[start].lowest_gap(size)
            if address is not None:
                return self._put(self._ranges[start], address, size)
        fresh = _Range(self._order(self._starts) if self._starts else _TOP, -(-size // RANGE_BYTES) * RANGE_BYTES)
        insort(self._starts, fresh.start)
        self._ranges[fresh.start] = fresh
        return self._put(fresh, fresh.start, size)

    def give_back(self, address: int) -> None:
        owner = self._range_of.pop(address)
        owner.remove(address)
        if not owner.pieces:
            self._starts.remove(owner.start)
            del self._ranges[owner.start]

    def _put(self, owner: _Range, address: int, size: int) -> int:
        insort(owner.pieces, (address, size))
        self._range_of[address] = owner
        return address


class _Range:
    def __init__(self, start: int, size: int) -> None:
        self.start = start
        self.size = size
        self.pieces: list[tuple[int, int]] = []  # address and size, ascending

    def lowest_gap(self, size: int) -> int | None:
        gap = self.start
        for address, taken in self.pieces:
            if address - gap >= size:
                return gap
            gap = address + taken
        return gap if self.start + self.size - gap >= size else None

    def remove(self, address: int) -> None:
        del self.pieces[bisect_left(self.pieces, (address, 0))]


def downwards(starts: Sequence[int]) -> int:
    return starts[0] - _SPACING


def upwards(starts: Sequence[int]) -> int:
    return starts[-1] + _SPACING


def mixed(seed: int) -> Order:
    """Downwards, but for those that fall into a hole above some earlier range, any of them equally likely."""
    random = Random(seed)
    made = 1

    def order(starts: Sequence[int]) -> int:
        nonlocal made
        made += 1
        share = SHARE_IN_HOLES_FIRST if made <= FIRST_RANGES else SHARE_IN_HOLES_LATER
        if random.random() >= share:
            return downwards(starts)
        below = random.randrange(len(starts))
        if below + 1 == len(starts):
            return upwards(starts)
        return (starts[below] + starts[below + 1]) // 2

    return order


def plausible(count: int) -> Iterator[Layout]:
    """`count` layouts, the same ones each time."""
    orders: list[Order] = [downwards, upwards, *map(mixed, range(count - 2))]
    return map(Layout, orders[:count])
