"""Appends records to a trace. Also used inside the user's process: standard library only, and small."""

from __future__ import annotations

import json
import os
import time
from functools import cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from veritasest.trace.events import Event, Header


class TraceWriter:
    """Writes whole lines, each by one write(), so that several processes can share the file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def header(self, header: Header) -> None:
        from veritasest.spec.codec import to_plain

        self._line({"kind": "header", **to_plain(header)})

    def write(self, event: Event) -> None:
        # The process id is asked for each time: a forked child writes through the same object.
        self._line({"kind": event.kind, "pid": os.getpid(), "t": time.monotonic(), **_given(event)})

    def end_torn_line(self) -> None:
        """Makes the next record a line of its own, whatever a killed process left at the end. Readers skip empty
        lines."""
        os.write(self._descriptor, b"\n")

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _line(self, record: dict[str, Any]) -> None:
        os.write(self._descriptor, json.dumps(record, separators=(",", ":")).encode() + b"\n")

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _given(event: Event) -> dict[str, Any]:
    """The fields that differ from their defaults: a reader fills in the others."""
    values = ((name, getattr(event, name), default) for name, default in _own_fields(cast("Any", type(event))))
    return {name: value for name, value, default in values if value != default}


@cache
def _own_fields(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Without a default: MISSING, which no value is equal to."""
    from dataclasses import fields

    return tuple((field.name, field.default) for field in fields(kind) if field.name not in ("pid", "t"))
