"""What the program was told of values that nobody computed."""

from __future__ import annotations

from veritasest.spec.estimate import AssumedValue
from veritasest.trace import Assumed, Trace

_WEIGHT = {"size": 0, "number": 1, "copy": 2}  # what steers most comes first


def assumed_values(*traces: Trace) -> tuple[AssumedValue, ...]:
    """One entry per line of code, for the weightiest thing it did; sizes first, then in the order they were read."""
    lines: dict[tuple[str | None, int | None], list[Assumed]] = {}
    for trace in traces:
        for event in trace.of(Assumed):
            lines.setdefault((event.file, event.line), []).append(event)
    found = [_of_line(events) for events in lines.values()]
    return tuple(sorted(found, key=lambda value: _WEIGHT.get(value.how, 3)))


def _of_line(events: list[Assumed]) -> AssumedValue:
    first = min(events, key=lambda event: _WEIGHT.get(event.how, 3))
    return AssumedValue(
        how=first.how,
        file=first.file,
        line=first.line,
        code=first.code,
        value=first.value,
        reads=max(event.reads for event in events if event.how == first.how),
    )


def sizes_are_assumed(trace: Trace) -> bool:
    """Whether some allocation was as large as it was because of an assumed value."""
    return any(event.how == "size" for event in trace.of(Assumed))
