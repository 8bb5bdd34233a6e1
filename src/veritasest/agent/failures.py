"""Writes down the exception that nobody caught; the script's own traceback is shown as ever."""

from __future__ import annotations

import sys
from types import TracebackType

from veritasest.agent import frames
from veritasest.agent.guard import guarded
from veritasest.trace.writer import TraceWriter


def watch(trace: TraceWriter) -> None:
    """From the start of the process: the import of torch itself may fail."""
    previous = sys.excepthook

    @guarded("the record of the job's exception")
    def note(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
        place = frames.of_traceback(tb)
        trace.write(
            "exception",
            type=f"{kind.__module__}.{kind.__qualname__}",
            message=(str(error).splitlines() or [""])[0],
            file=place["file"],
            line=place["line"],
        )

    def note_and_show(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
        note(kind, error, tb)
        previous(kind, error, tb)

    sys.excepthook = note_and_show
