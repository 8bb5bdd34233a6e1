"""Uncaught exceptions of the job are recorded, and shown as without the agent."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

import pytest

from veritasest.engines.emulated.agent import failures
from veritasest.gpus import find
from veritasest.spec.run import RunSpec
from veritasest.trace import SCHEMA, Event, Header, JobException, TraceWriter, read

Shown = list[type[BaseException]]


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], tuple[Event, Shown]]:
    """Lets an exception reach the end of the program: the record of it, and what was shown."""
    shown: Shown = []

    def show(kind: type[BaseException], _error: BaseException, _tb: TracebackType | None) -> None:
        shown.append(kind)

    def run(error: BaseException) -> tuple[Event, Shown]:
        path = tmp_path / "trace.jsonl"
        monkeypatch.setattr(sys, "excepthook", show)
        with TraceWriter(path) as trace:
            spec = RunSpec(gpu=find("h200"), limit_bytes=None)
            trace.header(
                Header(schema=SCHEMA, created="", command=(), veritasest="", run=spec, allocator_conf=None, host={})
            )
            failures.watch(trace)
            try:
                raise error
            except BaseException as caught:
                sys.excepthook(type(caught), caught, caught.__traceback__)
        (event,) = read(path).events
        return event, shown

    return run


def test_an_exception_is_recorded_with_its_line_and_still_shown(
    recorded: Callable[[BaseException], tuple[Event, Shown]],
) -> None:
    event, shown = recorded(ValueError("no data\nand more lines"))
    assert isinstance(event, JobException)
    assert (event.type, event.message, event.file) == ("ValueError", "no data", __file__)
    assert shown == [ValueError]


def test_an_exception_without_a_message_is_recorded_as_well(
    recorded: Callable[[BaseException], tuple[Event, Shown]],
) -> None:
    event, _ = recorded(KeyboardInterrupt())
    assert isinstance(event, JobException)
    assert (event.type, event.message) == ("KeyboardInterrupt", "")
