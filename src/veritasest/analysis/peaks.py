"""Peak memory, from what the device and the allocator recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

from veritasest.analysis.processes import DeviceUse, device_uses
from veritasest.analysis.replay import Place, local_peaks
from veritasest.spec.estimate import Peak
from veritasest.trace import Blocks, End, Event, Segment, Step, Trace


def devices_by_use(trace: Trace) -> tuple[int, ...]:
    """The devices that the job used, the fullest first."""
    uses = device_uses(trace)
    return tuple(sorted(uses, key=lambda device: (-uses[device].reserved_bytes, device)))


def fullest_device(trace: Trace) -> int:
    return next(iter(devices_by_use(trace)), 0)


def peak(trace: Trace, device: int) -> Peak:
    """Processes that share the device are added up while they run at the same time."""
    use = device_uses(trace).get(device, DeviceUse())
    return Peak(
        allocated_bytes=_allocated(trace, device, use),
        reserved_bytes=use.reserved_bytes,
        step=_step_of_peak(trace.events, device),
    )


def _allocated(trace: Trace, device: int, use: DeviceUse) -> int | None:
    """Of the processes that held memory at the reserved peak, each at its own peak but within what it held then. None
    if one of them left no record of it: unknown is not zero."""
    peaks = {pid: size for (pid, place), size in allocated_peaks(trace.events).items() if place == device}
    if not use.held:
        return max(peaks.values(), default=0)
    if not use.held.keys() <= reporting(trace.events):
        return None
    if len(use.held) == 1:
        return peaks.get(next(iter(use.held)), 0)
    return sum(min(peaks.get(pid, 0), held) for pid, held in use.held.items())


def reporting(events: Iterable[Event]) -> set[int]:
    """The processes whose agent recorded how much memory their tensors used."""
    return {event.pid for event in events if isinstance(event, Step | End | Blocks)}


def library_overhead_bytes(trace: Trace) -> int:
    """What libraries held at most, on the device where they held most."""
    return max((use.libraries_bytes for use in device_uses(trace).values()), default=0)


def steps(events: Iterable[Event]) -> int:
    """Optimizer steps finished, by the process that finished most."""
    return max((event.step for event in events if isinstance(event, Step)), default=0)


def reserved_peaks(events: Iterable[Event]) -> dict[Place, int]:
    """The most that each process had allocated on each device. From the device's own log, so it survives kill -9."""
    return _highest(((event.pid, event.device), event.used_bytes) for event in events if isinstance(event, Segment))


def allocated_peaks(events: Iterable[Event]) -> dict[Place, int]:
    """The most that tensors used: PyTorch's own statistic, or the replayed history where that is higher.

    The history holds requested sizes, and a block may be larger, so alone it is a lower bound (0.1 % low on a small
    GPT). But it continues after the last step, where a killed process left no statistic.
    """
    events = tuple(events)
    statistics = (((e.pid, e.device), e.allocated_peak_bytes) for e in events if isinstance(e, Step | End))
    replayed = ((place, live.in_use_bytes) for place, _, live in local_peaks(events))
    return {place: size for place, size in _highest(chain(statistics, replayed)).items() if size}


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
