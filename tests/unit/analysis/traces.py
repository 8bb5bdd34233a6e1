"""Traces written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veritasest.gpus import find
from veritasest.spec.run import RunSpec
from veritasest.trace import SCHEMA, Event, Header, Trace

MIB = 1 << 20


def header(*, command: tuple[str, ...] = (), limit_bytes: int | None = None, **gpu: Any) -> Header:
    """Of a run without a limit on an H200; keywords change the GPU."""
    return Header(
        schema=SCHEMA,
        created="",
        command=command,
        veritasest="",
        run=RunSpec(gpu=replace(find("h200"), **gpu), limit_bytes=limit_bytes),
        allocator_conf=None,
        host={},
    )


def trace(*events: Event) -> Trace:
    return Trace(header=header(), events=events)
