"""The caching allocator's history, replayed: which blocks were live at each local peak."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from veritasest.spec.enums import AllocatorAction, Phase
from veritasest.trace import Blocks, Event

Place = tuple[int, int]  # process, device

BLOCK_BYTES = 512  # PyTorch's kMinBlockSize: the allocator rounds every request up to it
_ALLOC, _FREE = AllocatorAction.ALLOC.value, AllocatorAction.FREE_REQUESTED.value  # compared for every event


@dataclass
class LiveBlocks:
    """Of one process on one device: address -> (bytes, phase in which it was allocated)."""

    blocks: dict[int, tuple[int, Phase]] = field(default_factory=dict)
    in_use_bytes: int = 0

    def allocate(self, address: int, size: int, phase: Phase) -> None:
        self.free(address)
        self.blocks[address] = (size, phase)
        self.in_use_bytes += size

    def free(self, address: int) -> None:
        """By address: a block from before the recording began was never added, and is not subtracted."""
        block = self.blocks.pop(address, None)
        if block is not None:
            self.in_use_bytes -= block[0]


def local_peaks(events: Iterable[Event]) -> Iterator[tuple[Place, Blocks, LiveBlocks]]:
    """Whenever memory in use stops growing: the record in which it does, and the blocks live then. The blocks change
    once the caller asks for the next."""
    places: dict[Place, LiveBlocks] = {}
    for record in events:
        if not isinstance(record, Blocks):
            continue
        place = (record.pid, record.device)
        live = places.setdefault(place, LiveBlocks())
        phase = record.phase or Phase.FORWARD_BACKWARD
        growing = False
        for action, address, size in zip(record.actions, record.addresses, record.sizes, strict=False):
            if action == _ALLOC:
                live.allocate(address, rounded(size), phase)
                growing = True
            elif action == _FREE:
                if growing:
                    yield place, record, live
                    growing = False
                live.free(address)
        if growing:
            yield place, record, live


def rounded(size: int) -> int:
    return -(-size // BLOCK_BYTES) * BLOCK_BYTES
