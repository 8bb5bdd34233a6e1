"""Writes down where the program read a value that nobody computed."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any

from veritasest.engines.emulated.agent import frames
from veritasest.trace.events import Assumed
from veritasest.trace.writer import TraceWriter

# Saving a model copies unknown values to the host; nothing in the program hangs on them.
_BYSTANDERS = ("torch/serialization.py", "safetensors/torch.py")


class Reads:
    def __init__(self, trace: TraceWriter) -> None:
        self._trace = trace
        self._noted: dict[tuple[Any, ...], Assumed] = {}

    def note(self, how: str, operator: str, tensor: Any, value: Any) -> tuple[Any, ...]:
        """`how`: "number" (`.item()`, `bool()`), "size" (a shape counted from values) or "copy" (to the host).
        Returns the place, for whoever wants to know it again."""
        if how == "copy" and _is_bystander():
            return ()
        place = frames.current()
        key = (how, place.file, place.line, operator)
        known = self._noted.get(key)
        if known is not None:
            self._noted[key] = replace(known, reads=known.reads + 1)
            return key
        record = Assumed(
            how=how,
            operator=operator,
            file=place.file,
            line=place.line,
            code=place.code,
            shape=tuple(tensor.shape),
            dtype=str(tensor.dtype).removeprefix("torch."),
            value=value if isinstance(value, (bool, int, float)) and math.isfinite(value) else None,
        )
        self._noted[key] = record
        self._trace.write(record)
        return key

    def finish(self) -> None:
        """At the end of the process: how often each was read."""
        for record in self._noted.values():
            if record.reads > 1:
                self._trace.write(record)


def _is_bystander() -> bool:
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith(_BYSTANDERS):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
