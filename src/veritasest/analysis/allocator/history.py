"""The allocator's recorded history, as requests that a simulation can answer again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat

from veritasest.analysis.allocator.caching import CachingAllocator
from veritasest.trace import Blocks, Event

Place = tuple[int, int]  # process, device
Row = tuple[str, int, int, int]  # letter, address, size, stream

ALLOCATE, FREE, RELEASE = range(3)
Request = tuple[int, int, int]  # what, bytes or which allocation, stream


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """`peak_bytes`: the most that was reserved. `ties`: how often addresses decided which block was taken."""

    peak_bytes: int
    ties: int


def histories(events: Iterable[Event]) -> dict[Place, list[Row]]:
    rows: dict[Place, list[Row]] = {}
    for event in events:
        if isinstance(event, Blocks):
            columns = zip(event.actions, event.addresses, event.sizes, event.streams or repeat(0), strict=False)
            rows.setdefault((event.pid, event.device), []).extend(columns)
    return rows


def requests(rows: Sequence[Row]) -> list[Request] | None:
    """What the program asked of the allocator. None: it has gaps, or something that is not simulated."""
    live: dict[int, int] = {}
    asked: list[Request] = []
    allocations = 0
    before = ""
    for letter, address, size, stream in rows:
        if letter == "a":
            if address in live:
                return None
            live[address] = allocations
            allocations += 1
            asked.append((ALLOCATE, size, stream))
        elif letter == "c":
            if address not in live:
                return None
            asked.append((FREE, live.pop(address), stream))
        elif letter == "f":
            if before != "f":  # one call gives back all that is cached, segment by segment
                asked.append((RELEASE, 0, 0))
        elif letter not in "rs":
            return None
        before = letter
    return asked


def replay(asked: Iterable[Request], place: Callable[[int], int], give_back: Callable[[int], None]) -> Replayed:
    """The same requests, with segments where `place` puts them."""
    allocator = CachingAllocator(place, give_back)
    addresses: list[int] = []
    for what, number, stream in asked:
        if what == ALLOCATE:
            addresses.append(allocator.allocate(number, stream))
        elif what == FREE:
            allocator.free(addresses[number])
        else:
            allocator.release_cached()
    return Replayed(peak_bytes=allocator.peak_bytes, ties=allocator.ties)


def reproduce(rows: Sequence[Row]) -> Replayed | None:
    """The recorded run once more, with its own segments. None unless every block gets the address that it was recorded
    with, and the same segments are taken and given back: where it does not, these rules are not those of this run."""
    again = _Reproduction()
    try:
        for letter, address, size, stream in rows:
            again.follow(letter, address, size, stream)
        again.check_releases()
    except _Differs:
        return None
    return Replayed(peak_bytes=again.allocator.peak_bytes, ties=again.allocator.ties)


class _Differs(Exception):
    """The simulation did what the recorded run did not."""


class _Reproduction:
    def __init__(self) -> None:
        self.allocator = CachingAllocator(self._place)
        self._recorded: list[tuple[int, int]] = []  # the segment that was recorded for the next allocation
        self._released: set[int] = set()  # segments given back, and not yet seen in the record

    def follow(self, letter: str, address: int, size: int, stream: int) -> None:
        if letter == "f":
            self._release(address)
            return
        self.check_releases()
        if letter == "s":
            self._recorded.append((address, size))
        elif letter == "a":
            if self.allocator.allocate(size, stream) != address or self._recorded:
                raise _Differs
        elif letter == "c":
            self.allocator.free(address)

    def check_releases(self) -> None:
        if self._released:
            raise _Differs

    def _release(self, address: int) -> None:
        self._released = self._released or self.allocator.release_cached()
        if address not in self._released:
            raise _Differs
        self._released.discard(address)

    def _place(self, size: int) -> int:
        if not self._recorded or self._recorded[-1][1] != size:
            raise _Differs
        return self._recorded.pop()[0]
