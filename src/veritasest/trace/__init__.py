"""The file between a run and its analysis: JSON lines, append-only, readable after a crash.

Several processes append to one file at once. Each line is written by one write() to a file opened with O_APPEND, so
lines never mix; the last one may be torn when its writer was killed. `events.py` defines every kind of line.

The writer is also imported inside the user's process, so this module loads nothing until a name is asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veritasest.trace.events import (
        SCHEMA,
        Assumed,
        Batches,
        Blocks,
        DeferredFree,
        End,
        Event,
        Exit,
        Gone,
        Header,
        HeldBack,
        HostMemory,
        JobException,
        Killed,
        Library,
        Misuse,
        NotReached,
        Observed,
        OutOfMemory,
        OwnError,
        Process,
        ProcessExit,
        Refused,
        Roles,
        Segment,
        StageBegun,
        Step,
        Trace,
        Unmodelled,
        Workspace,
    )
    from veritasest.trace.reader import Tail, read
    from veritasest.trace.writer import TraceWriter

__all__ = [
    "SCHEMA",
    "Assumed",
    "Batches",
    "Blocks",
    "DeferredFree",
    "End",
    "Event",
    "Exit",
    "Gone",
    "Header",
    "HeldBack",
    "HostMemory",
    "JobException",
    "Killed",
    "Library",
    "Misuse",
    "NotReached",
    "Observed",
    "OutOfMemory",
    "OwnError",
    "Process",
    "ProcessExit",
    "Refused",
    "Roles",
    "Segment",
    "StageBegun",
    "Step",
    "Tail",
    "Trace",
    "TraceWriter",
    "Unmodelled",
    "Workspace",
    "read",
]

_HOMES = {"Tail": "reader", "read": "reader", "TraceWriter": "writer"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'events')}"), name)
