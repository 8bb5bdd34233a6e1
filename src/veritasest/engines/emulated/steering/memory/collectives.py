"""What collectives left in device memory, until its tensor is looked up."""

from __future__ import annotations

from collections import OrderedDict

from veritasest.engines.emulated.steering.memory.state import ValueState

MAX_RANGES = 256  # every look-up goes through all of them; the oldest are dropped, and their tensors then unknown


class ReceivedRanges:
    """Ranges of addresses, each with the state of its values. Ranges never overlap."""

    def __init__(self) -> None:
        self._ranges: OrderedDict[int, tuple[int, ValueState]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def add(self, address: int, size: int, state: ValueState) -> None:
        self._ranges[address] = (address + size, state)
        if len(self._ranges) > MAX_RANGES:
            self._ranges.popitem(last=False)

    def state(self, address: int, size: int) -> ValueState | None:
        """The state of the least known part; None if not all of it was received."""
        found = sorted((begin, *rest) for begin, rest in self._overlapping(address, size))
        reached, end = address, address + size
        for begin, last, _ in found:
            if begin > reached:
                return None
            reached = last
        return max(state for _, _, state in found) if found and reached >= end else None

    def drop(self, address: int, size: int) -> None:
        """That memory has been written to since, or has another owner."""
        for begin, _ in self._overlapping(address, size):
            self._ranges.pop(begin, None)

    def _overlapping(self, address: int, size: int) -> list[tuple[int, tuple[int, ValueState]]]:
        end = address + size
        known = list(self._ranges.items())  # another thread may add to them meanwhile
        return [(begin, rest) for begin, rest in known if begin < end and address < rest[0]]
