"""Reads a trace: whole after the run, or line by line while it grows."""

from __future__ import annotations

import dataclasses
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from veritasest.errors import TraceError
from veritasest.trace.records import KINDS, SCHEMA, Event, Header, Trace


def read(path: str | os.PathLike[str]) -> Trace:
    """The trace at `path`. Torn lines are counted, kinds from the future skipped, a newer schema refused."""
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
        except (ValueError, TypeError, KeyError):
            unreadable += 1
            continue
        if event is not None:
            events.append(event)
    return Trace(header=header, events=tuple(events), unreadable_lines=unreadable)


class Tail:
    """Follows a growing trace. Allocator history is passed over: it is large, and no live display needs it."""

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
                except (ValueError, TypeError, KeyError):
                    continue
        return [event for event in events if event is not None]

    def close(self) -> None:
        self._file.close()


def _header(line: bytes, path: str | os.PathLike[str]) -> Header:
    try:
        record = json.loads(line)
        schema = record["schema"]
    except (ValueError, TypeError, KeyError) as error:
        raise TraceError(f"{os.fspath(path)} is not a VeritasEst trace: its first line is no header") from error
    if schema > SCHEMA:
        raise TraceError(
            f"{os.fspath(path)} has trace schema {schema}, this VeritasEst reads up to {SCHEMA}",
            "upgrade VeritasEst: pip install --upgrade veritasest",
        )
    return Header(**_known(Header, record))


def _event(line: bytes) -> Event | None:
    record = json.loads(line)
    kind = KINDS.get(record["kind"])
    return kind(**_known(kind, record)) if kind else None


def _known(kind: type, record: dict[str, Any]) -> dict[str, Any]:
    """The fields this version knows; lists become tuples, so that records are truly frozen."""
    names = _names(kind)
    return {key: tuple(value) if isinstance(value, list) else value for key, value in record.items() if key in names}


@cache
def _names(kind: type) -> frozenset[str]:
    return frozenset(field.name for field in dataclasses.fields(kind))
