"""The file between the run and the analysis: JSON lines, append-only, readable after a crash.

Several processes append to one file at once. Each line is written by one write() to a file opened with O_APPEND, so
lines never mix; the last one may be torn when its writer was killed. docs: see `records.py` for every kind of line.
"""

from veritasest.trace.reader import Tail, read
from veritasest.trace.records import (
    SCHEMA,
    Assumed,
    Batches,
    Blocks,
    End,
    Event,
    Exit,
    Header,
    HostMemory,
    JobException,
    Library,
    Misuse,
    NotReached,
    Observed,
    OutOfMemory,
    OwnError,
    Process,
    Refused,
    Roles,
    Segment,
    StageBegun,
    Step,
    Trace,
    Unmodelled,
)
from veritasest.trace.writer import TraceWriter

__all__ = [
    "SCHEMA",
    "Assumed",
    "Batches",
    "Blocks",
    "End",
    "Event",
    "Exit",
    "Header",
    "HostMemory",
    "JobException",
    "Library",
    "Misuse",
    "NotReached",
    "Observed",
    "OutOfMemory",
    "OwnError",
    "Process",
    "Refused",
    "Roles",
    "Segment",
    "StageBegun",
    "Step",
    "Tail",
    "Trace",
    "TraceWriter",
    "Unmodelled",
    "read",
]
