"""Records an uncaught exception; Python still shows its traceback."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from veritasest.engines.emulated.agent import frames
from veritasest.engines.emulated.agent.guard import guarded, type_name

if TYPE_CHECKING:
    from veritasest.trace.writer import TraceWriter


def watch(trace: TraceWriter) -> None:
    """From the start of the process: the import of torch itself may fail."""
    previous = sys.excepthook

    @guarded("the record of the job's exception")
    def note(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
        from veritasest.trace.events import JobException, OwnError

        place = frames.of_traceback(tb)
        name, message = type_name(kind), (str(error).splitlines() or [""])[0]
        may_be_ours = issubclass(kind, Exception) and not kind.__name__.endswith("OutOfMemoryError")
        ours = frames.raised_by_us(tb) if may_be_ours else None
        if ours is not None:
            trace.write(OwnError(where="a call by the job", type=name, message=message, file=ours[0], line=ours[1]))
        else:
            trace.write(JobException(type=name, message=message, file=place.file, line=place.line))

    def note_and_show(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
        note(kind, error, tb)
        previous(kind, error, tb)

    sys.excepthook = note_and_show
