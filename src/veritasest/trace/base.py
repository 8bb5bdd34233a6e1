"""What all lines of a trace have in common, and the registry of their kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from veritasest.spec.run import RunSpec

SCHEMA = 2

E = TypeVar("E", bound="Event")
KINDS: dict[str, type[Event]] = {}


def kind(name: str) -> Callable[[type[E]], type[E]]:
    """Names the lines that hold this record."""

    def register(record: type[E]) -> type[E]:
        record.kind = name
        KINDS[name] = record
        return record

    return register


@dataclass(frozen=True, kw_only=True)
class Header:
    schema: int
    created: str
    command: tuple[str, ...]
    veritasest: str
    run: RunSpec
    allocator_conf: str | None
    host: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Event:
    """`pid` and `t` are set by the writer: a record that was not written yet has none."""

    kind: ClassVar[str]

    pid: int = 0
    t: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A whole trace, events in the order they were written. `unreadable_lines` counts torn or malformed lines."""

    header: Header
    events: tuple[Event, ...] = field(default=())
    unreadable_lines: int = 0

    def of(self, kind: type[E]) -> tuple[E, ...]:
        return tuple(event for event in self.events if isinstance(event, kind))
