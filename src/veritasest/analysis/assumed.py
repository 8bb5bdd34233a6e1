"""Lines of the user's code that read values which were not computed."""

from __future__ import annotations

import re

from veritasest.spec.estimate import AssumedValue
from veritasest.trace import Assumed, Trace

_ORDER = {"size": 0, "number": 1, "copy": 2}  # what memory depends on most comes first
# A number that only goes into a log or a sum does not decide how much memory is allocated.
_DECIDES = re.compile(r"^\s*(if|elif|while|assert|for)\b|[<>]|==|!=|\b(range|int|bool|any|all|min|max)\(")


def assumed_values(*traces: Trace) -> tuple[AssumedValue, ...]:
    """One entry per line of code, for the most important of its reads; sizes first, then in the order of reading."""
    lines: dict[tuple[str | None, int | None], list[Assumed]] = {}
    for trace in traces:
        for event in trace.of(Assumed):
            lines.setdefault((event.file, event.line), []).append(event)
    found = [_of_line(events) for events in lines.values()]
    return tuple(sorted(found, key=lambda value: _ORDER.get(value.how, 3)))


def _of_line(events: list[Assumed]) -> AssumedValue:
    first = min(events, key=lambda event: _ORDER.get(event.how, 3))
    return AssumedValue(
        how=first.how,
        file=first.file,
        line=first.line,
        code=first.code,
        value=first.value,
        reads=max(event.reads for event in events if event.how == first.how),
        matters=any(_matters(event) for event in events),
    )


def _matters(event: Assumed) -> bool:
    """Whether memory may depend on it. Known limitation: a number that is stored first and compared later is missed."""
    if event.how == "number":
        return not event.dtype.startswith(("float", "bfloat")) or bool(_DECIDES.search(event.code or ""))
    return event.how == "size"


def sizes_are_assumed(trace: Trace) -> bool:
    """Whether some allocation has the size it has because of an assumed value."""
    return any(event.how == "size" for event in trace.of(Assumed))
