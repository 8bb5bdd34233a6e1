"""Reads a trace: whole after the run, or line by line while it grows."""

from __future__ import annotations

import json
import os
from pathlib import Path

from veritasest.errors import TraceError
from veritasest.spec.codec import from_plain
from veritasest.trace.events import KINDS, SCHEMA, Event, Header, Trace

_MALFORMED = (ValueError, TypeError, KeyError)


def read(path: str | os.PathLike[str]) -> Trace:
    """The trace at `path`. Torn lines are counted, unknown kinds skipped, other schemas refused."""
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise TraceError(f"cannot read the trace {os.fspath(path)}: {error.strerror}") from error
    header = _header(lines[0], path)
    events: list[Event] = []
    unreadable = 0
    for line in filter(None, lines[1:]):
        try:
            event = _event(line)
        except _MALFORMED:
            unreadable += 1
            continue
        if event is not None:
            events.append(event)
    return Trace(header=header, events=tuple(events), unreadable_lines=unreadable)


class Tail:
    """Follows a growing trace. Skips the allocator's history: it is large, and no live display needs it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = open(path, "rb")  # noqa: SIM115 (closed by close())
        self._rest = b""

    def poll(self) -> list[Event]:
        """The events written since the last call; half a line is kept for the next."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        events = []
        for line in lines:
            if line and b'"blocks"' not in line[:40]:
                try:
                    events.append(_event(line))
                except _MALFORMED:
                    continue
        return [event for event in events if event is not None]

    def close(self) -> None:
        self._file.close()


def _header(line: bytes, path: str | os.PathLike[str]) -> Header:
    try:
        record = json.loads(line)
        schema = record["schema"]
    except _MALFORMED as error:
        raise TraceError(f"{os.fspath(path)} is not a VeritasEst trace: its first line is not a header") from error
    if schema != SCHEMA:
        remedy = "upgrade VeritasEst: pip install --upgrade veritasest" if schema > SCHEMA else "record the job again"
        raise TraceError(f"{os.fspath(path)} has trace schema {schema}; this VeritasEst reads schema {SCHEMA}", remedy)
    try:
        return from_plain(Header, record)
    except _MALFORMED as error:
        raise TraceError(f"{os.fspath(path)} is not a VeritasEst trace: {error}") from error


def _event(line: bytes) -> Event | None:
    record = json.loads(line)
    kind = KINDS.get(record["kind"])
    return from_plain(kind, record) if kind else None
