"""The processes of a run on their device: which held memory at the same time, and how each of them ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from veritasest.trace import End, Event, Gone, Killed, Library, Process, ProcessExit, Segment, Trace


@dataclass(frozen=True, kw_only=True)
class DeviceUse:
    """What processes that lived at the same time held on one device.

    `reserved_bytes`: their allocations at most; `held`: each one's share of that. `total_bytes`: with their CUDA
    contexts and libraries, at most; there were `processes` of them then, and never more than `most_processes`.
    `libraries_bytes`: the most that libraries held.
    """

    reserved_bytes: int = 0
    held: Mapping[int, int] = field(default_factory=dict)
    total_bytes: int = 0
    processes: int = 0
    libraries_bytes: int = 0
    most_processes: int = 0


def device_uses(trace: Trace) -> dict[int, DeviceUse]:
    """Adds up, in the order of the trace, what the running processes hold at each moment. A process counts from its
    first record of memory, with its context, until it ends: processes that run one after another are not added up."""
    context_bytes = trace.header.run.gpu.context_bytes
    devices: dict[int, _Device] = {}
    for event in _in_effect(trace.events):
        if isinstance(event, Segment | Library):
            devices.setdefault(event.device, _Device(context_bytes)).count(event)
        else:
            for device in devices.values():
                device.leave(event.process if isinstance(event, Gone) else event.pid)
    return {number: device.use() for number, device in devices.items()}


def _in_effect(events: tuple[Event, ...]) -> Iterator[Segment | Library | ProcessExit | Gone]:
    """What a process frees after the record of its exit was counted as freed then."""
    exited: set[int] = set()
    for event in events:
        if isinstance(event, Segment | Library):
            frees = event.op == "free" if isinstance(event, Segment) else event.bytes < 0
            if event.pid in exited and frees:
                continue
            exited.discard(event.pid)
            yield event
        elif isinstance(event, ProcessExit | Gone):
            exited.add(event.process if isinstance(event, Gone) else event.pid)
            yield event


class _Device:
    """The memory of one device, replayed."""

    def __init__(self, context_bytes: int) -> None:
        self._context_bytes = context_bytes
        self._used: dict[int, int] = {}
        self._libraries: dict[int, int] = {}
        self._use = DeviceUse()

    def count(self, event: Segment | Library) -> None:
        if isinstance(event, Segment):
            self._used[event.pid] = event.used_bytes
        else:
            self._libraries[event.pid] = event.libraries_bytes
        alive = len(self._used.keys() | self._libraries.keys())
        reserved, libraries = sum(self._used.values()), sum(self._libraries.values())
        total = reserved + libraries + alive * self._context_bytes
        self._use = replace(
            self._use,
            libraries_bytes=max(libraries, self._use.libraries_bytes),
            most_processes=max(alive, self._use.most_processes),
        )
        if reserved > self._use.reserved_bytes:
            self._use = replace(self._use, reserved_bytes=reserved, held=dict(self._used))
        if total > self._use.total_bytes:
            self._use = replace(self._use, total_bytes=total, processes=alive)

    def leave(self, process: int) -> None:
        self._used.pop(process, None)
        self._libraries.pop(process, None)

    def use(self) -> DeviceUse:
        return self._use


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a process that used the GPU ended: with an exit `code`, or None where it died of a signal. `by_whom`:
    "itself", "job" (another process of the job sent the signal) or "us"."""

    t: float
    code: int | None
    by_whom: str = "itself"

    @property
    def is_failure(self) -> bool:
        return self.by_whom == "itself" and self.code != 0


def gpu_processes(trace: Trace) -> tuple[int, ...]:
    """Those that initialised CUDA or took device memory, in order of appearance."""
    return tuple(dict.fromkeys(event.pid for event in trace.events if isinstance(event, Process | Segment | Library)))


def endings(trace: Trace) -> dict[int, Ending]:
    """The last known ending of each process that used the GPU."""
    found: dict[int, Ending] = {}
    signalled: set[int] = set()
    for event in trace.events:
        if isinstance(event, Killed):
            signalled.add(event.process)
        elif isinstance(event, ProcessExit):
            found[event.pid] = Ending(t=event.t, code=event.code)
        elif isinstance(event, Gone) and event.process not in found and event.process != event.pid:
            by_whom = "us" if event.by_us else "job" if event.process in signalled else "itself"
            found[event.process] = Ending(t=event.t, code=None, by_whom=by_whom)
    return found


def stopped_at(trace: Trace) -> float | None:
    """When the agent first ended a process of the job because enough was observed. What happens afterwards, such as a
    supervisor that misses its worker, says nothing about the job."""
    return min((end.t for end in trace.of(End) if end.reason.by_agent), default=None)


def ended_by_agent(trace: Trace) -> set[int]:
    """The processes that the agent ended because enough was observed."""
    return {end.pid for end in trace.of(End) if end.reason.by_agent}
