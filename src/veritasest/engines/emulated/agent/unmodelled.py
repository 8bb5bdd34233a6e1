"""Adds the line of the user's code to what the emulated device reports as not modelled."""

from __future__ import annotations

import ctypes
from typing import Any

from veritasest.engines.emulated.agent import frames
from veritasest.engines.emulated.agent.guard import guarded
from veritasest.trace.events import Unmodelled
from veritasest.trace.writer import TraceWriter

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p)


def watch(trace: TraceWriter) -> Any:
    """Writes the device's `unmodelled` records from now on. The caller keeps the result alive: it is the callback."""

    @guarded("the list of what is not modelled")
    def note(library: bytes, name: bytes, how: bytes) -> None:
        place = frames.current()
        trace.write(
            Unmodelled(library=library.decode(), name=name.decode(), how=how.decode(), file=place.file, line=place.line)
        )

    callback = _CALLBACK(note)
    ctypes.CDLL(None).vest_watch_unmodelled(callback)  # preloaded, so among the process's own symbols
    return callback


def stop() -> None:
    """The device writes them itself again: Python is about to end."""
    ctypes.CDLL(None).vest_watch_unmodelled(None)
