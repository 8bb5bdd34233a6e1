"""What holds in every trace of a run, whatever the job does. Where it does not, the fault is ours."""

from __future__ import annotations

from collections.abc import Iterator

from veritasest.analysis.peaks import reserved_peaks
from veritasest.analysis.processes import device_uses
from veritasest.trace import End, Event, Gone, Library, ProcessExit, Segment, Step, Trace
from veritasest.units import format_bytes


def violations(trace: Trace) -> Iterator[str]:
    yield from _within_the_books(trace)
    yield from _within_the_device(trace)


def gaps(trace: Trace) -> Iterator[str]:
    """Records that must have been written and are not there."""
    yield from _unreadable(trace)
    yield from _broken_sums(trace)


def _within_the_books(trace: Trace) -> Iterator[str]:
    """PyTorch's own statistics against the device's books, which also hold what others in the process allocate."""
    books = reserved_peaks(trace.events)
    for event in trace.events:
        if not isinstance(event, Step | End):
            continue
        given = books.get((event.pid, event.device), 0)
        for what, size in (("reserved", event.reserved_peak_bytes), ("allocated", event.allocated_peak_bytes)):
            if size > given:
                yield (
                    f"PyTorch in process {event.pid} {what} {format_bytes(size)}, and the device gave it no more than "
                    f"{format_bytes(given)}"
                )


def _within_the_device(trace: Trace) -> Iterator[str]:
    """In a run at capacity, contexts and libraries included."""
    limit, capacity = trace.header.run.limit_bytes, trace.header.run.gpu.total_bytes
    if limit is None:
        return
    for use in device_uses(trace).values():
        if use.reserved_bytes > limit:
            yield f"the job needs {format_bytes(use.reserved_bytes)}, and was given no more than {format_bytes(limit)}"
        elif use.total_bytes > capacity:
            yield f"{format_bytes(use.total_bytes)} were in use on a device of {format_bytes(capacity)}"


def _unreadable(trace: Trace) -> Iterator[str]:
    """A process that is killed may leave its last line torn, which is no gap: what it did until then is there."""
    killed = {event.process for event in trace.of(Gone)} - {event.pid for event in trace.of(ProcessExit)}
    if trace.unreadable_lines > len(killed):
        yield f"{trace.unreadable_lines} lines of the trace could not be read"


def _broken_sums(trace: Trace) -> Iterator[str]:
    """Each record of memory follows from the one before it, of the same process and device. What a process gives back
    while it exits is no longer counted."""
    before: dict[tuple[type[Event], int, int], int] = {}
    exited: set[int] = set()
    for event in trace.events:
        if isinstance(event, Gone | ProcessExit):
            process = event.process if isinstance(event, Gone) else event.pid
            before = {key: now for key, now in before.items() if key[1] != process}
            exited.add(process)
        elif isinstance(event, Segment | Library):
            key, change, now = (type(event), event.pid, event.device), _change(event), _level(event)
            if event.pid in exited and change < 0:
                continue
            exited.discard(event.pid)
            if now != before.get(key, 0) + change:
                yield f"process {event.pid} went from {before.get(key, 0)} by {change} to {now} bytes"
                return
            before[key] = now


def _change(event: Segment | Library) -> int:
    return -event.bytes if isinstance(event, Segment) and event.op == "free" else event.bytes


def _level(event: Segment | Library) -> int:
    return event.used_bytes if isinstance(event, Segment) else event.libraries_bytes
