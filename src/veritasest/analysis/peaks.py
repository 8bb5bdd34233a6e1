"""Peak memory, from the books kept by the device and the allocator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from veritasest.analysis.processes import DeviceUse, device_uses
from veritasest.spec.estimate import Peak
from veritasest.trace import Blocks, End, Event, Segment, Step, Trace

Place = tuple[int, int]  # process, device

BLOCK_BYTES = 512  # our name for kMinBlockSize: PyTorch's allocator rounds every request up to it


def peak(trace: Trace) -> Peak:
    """The peak of the fullest device. Processes that share it are added up while they live at the same time."""
    uses = device_uses(trace)
    device = max(uses, key=lambda d: (uses[d].reserved_bytes, -d), default=0)
    use = uses.get(device, DeviceUse())
    return Peak(
        allocated_bytes=_allocated(trace, device, use),
        reserved_bytes=use.reserved_bytes,
        step=_step_of_peak(trace.events, device),
        device=device,
    )


def _allocated(trace: Trace, device: int, use: DeviceUse) -> int | None:
    """Of the processes that held memory at the reserved peak, each at its own peak but within what it held then. None
    where one of them left no word of it: nothing is known, which is not zero."""
    peaks = {pid: size for (pid, place), size in allocated_peaks(trace.events).items() if place == device}
    if not use.held:
        return max(peaks.values(), default=0)
    if not use.held.keys() <= told(trace.events):
        return None
    if len(use.held) == 1:
        return peaks.get(next(iter(use.held)), 0)
    return sum(min(peaks.get(pid, 0), held) for pid, held in use.held.items())


def told(events: Iterable[Event]) -> set[int]:
    """The processes whose agent said how much their tensors took."""
    return {event.pid for event in events if isinstance(event, Step | End | Blocks)}


def libraries_bytes(trace: Trace) -> int:
    """What libraries held at most, on the device where they held most."""
    return max((use.libraries_bytes for use in device_uses(trace).values()), default=0)


def steps(events: Iterable[Event]) -> int:
    """Optimizer steps finished, by the process that finished most."""
    return max((event.step for event in events if isinstance(event, Step)), default=0)


def reserved_peaks(events: Iterable[Event]) -> dict[Place, int]:
    """What each process took from each device at most. From the device's own log, so it outlives kill -9."""
    return _highest(((event.pid, event.device), event.used_bytes) for event in events if isinstance(event, Segment))


def allocated_peaks(events: Iterable[Event]) -> dict[Place, int]:
    """What tensors took at most: PyTorch's own statistic, or the replayed history where that saw more.

    The history holds what was asked for, and a block may be larger than that, so alone it is a lower bound (0.1 % low
    on a small GPT). But it goes on after the last step, where a killed process left no statistic.
    """
    events = tuple(events)
    told = (((e.pid, e.device), e.allocated_peak_bytes) for e in events if isinstance(e, Step | End))
    peaks = _highest(chain(told, replay(events)))
    return {place: size for place, size in peaks.items() if size}


def replay(events: Iterable[Event]) -> Iterator[tuple[Place, int]]:
    """Bytes in live blocks after each allocation, as the allocator's history tells them."""
    live: dict[Place, dict[int, int]] = {}
    in_use: Counter[Place] = Counter()
    for event in events:
        if not isinstance(event, Blocks):
            continue
        place = (event.pid, event.device)
        blocks = live.setdefault(place, {})
        for action, address, size in zip(event.actions, event.addresses, event.sizes, strict=False):
            if action == "a":
                in_use[place] += rounded(size) - blocks.pop(address, 0)
                blocks[address] = rounded(size)
                yield place, in_use[place]
            elif action == "r":
                # By address: a block from before the recording began was never added, and is not subtracted.
                in_use[place] -= blocks.pop(address, 0)


def rounded(size: int) -> int:
    return -(-size // BLOCK_BYTES) * BLOCK_BYTES


def _highest(readings: Iterable[tuple[Place, int]]) -> dict[Place, int]:
    highest: dict[Place, int] = {}
    for place, size in readings:
        highest[place] = max(highest.get(place, 0), size)
    return highest


def _step_of_peak(events: Iterable[Event], device: int) -> int:
    """Steps the fullest process on `device` had finished when it first reached its reserved peak."""
    finished: Counter[int] = Counter()
    best, at = -1, 0
    for event in events:
        if isinstance(event, Step):
            finished[event.pid] = max(finished[event.pid], event.step)
        elif isinstance(event, Segment) and event.device == device and event.used_bytes > best:
            best, at = event.used_bytes, finished[event.pid]
    return at
