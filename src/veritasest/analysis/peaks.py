"""Peak memory, from the books kept by the device and the allocator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from veritasest.result import Peak
from veritasest.trace import Blocks, End, Event, Library, Segment, Step, Trace

Place = tuple[int, int]  # process, device

BLOCK_BYTES = 512  # our name for kMinBlockSize: PyTorch's allocator rounds every request up to it


def peak(trace: Trace) -> Peak:
    """The peak of the fullest device. Processes that share a device are taken at their own peaks, added up: they may
    well reach them together, and the trace of one run cannot rule it out."""
    reserved = _by_device(reserved_peaks(trace.events))
    allocated = _by_device(allocated_peaks(trace.events))
    device = max(reserved, key=lambda d: (reserved[d], -d), default=0)
    return Peak(
        allocated_bytes=allocated.get(device, 0),
        reserved_bytes=reserved.get(device, 0),
        step=_step_of_peak(trace.events, device),
        device=device,
    )


def libraries_bytes(trace: Trace) -> int:
    """What libraries took for themselves, at most, on the device where they took most."""
    held = _highest(((event.pid, event.device), event.libraries_bytes) for event in trace.of(Library))
    return max(_by_device(held).values(), default=0)


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


def _by_device(peaks: Mapping[Place, int]) -> dict[int, int]:
    totals: Counter[int] = Counter()
    for (_, device), size in peaks.items():
        totals[device] += size
    return dict(totals)


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
