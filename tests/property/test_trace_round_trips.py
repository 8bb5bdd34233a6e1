"""Every kind of line in a trace survives the way through the file."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from dataclass_strategies import instances
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from veritasest.gpus import find
from veritasest.spec.run import RunSpec
from veritasest.trace import SCHEMA, Event, Header, Tail, TraceWriter, read
from veritasest.trace.events import KINDS

# The folder of a test is the same for all its examples: each begins with a new file.
few_examples = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=20
)
HEADER = Header(
    schema=SCHEMA,
    created="",
    command=(),
    veritasest="",
    run=RunSpec(gpu=find("h200"), limit_bytes=None),
    allocator_conf=None,
    host={},
)
SET_BY_THE_WRITER = {"pid", "t"}
SKIPPED_BY_THE_TAIL = {"blocks"}


def written(folder: Path, header: Header, events: Iterable[Event] = ()) -> Path:
    path = folder / "trace.jsonl"
    path.unlink(missing_ok=True)
    with TraceWriter(path) as trace:
        trace.header(header)
        for event in events:
            trace.write(event)
    return path


def own_fields(event: Event) -> dict[str, object]:
    names = [field.name for field in dataclasses.fields(event) if field.name not in SET_BY_THE_WRITER]
    return {"kind": type(event), **{name: getattr(event, name) for name in names}}


def test_the_kinds_are_found() -> None:
    assert len(KINDS) >= 25
    assert all(kind.kind == name for name, kind in KINDS.items())


@given(header=instances(Header))
@few_examples
def test_a_header_is_read_as_it_was_written(header: Header, tmp_path: Path) -> None:
    header = dataclasses.replace(header, schema=SCHEMA)
    assert read(written(tmp_path, header)).header == header


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
@given(data=st.data())
@few_examples
def test_every_kind_of_event_is_read_as_it_was_written(kind: type[Event], data: st.DataObject, tmp_path: Path) -> None:
    events = data.draw(st.lists(instances(kind), min_size=1, max_size=3))
    found = read(written(tmp_path, HEADER, events))
    assert [own_fields(event) for event in found.events] == [own_fields(event) for event in events]
    assert ({event.pid for event in found.events}, found.unreadable_lines) == ({os.getpid()}, 0)


@given(events=st.lists(st.one_of([instances(kind) for kind in KINDS.values()]), max_size=5))
@few_examples
def test_a_trace_that_is_followed_has_the_events_of_the_whole(events: list[Event], tmp_path: Path) -> None:
    path = written(tmp_path, HEADER)
    tail, found = Tail(path), []
    with TraceWriter(path) as trace:
        for event in events:
            trace.write(event)
            found += tail.poll()
    tail.close()
    assert found == [event for event in read(path).events if event.kind not in SKIPPED_BY_THE_TAIL]
