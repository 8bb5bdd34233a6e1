"""Records where the program read a value that was not computed."""

from __future__ import annotations

import math
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from veritasest.engines.emulated.agent import frames
from veritasest.engines.emulated.steering.report import SteeringReport
from veritasest.trace.events import Assumed

# Saving a model copies unknown values to the host; nothing in the program depends on them.
_SAVES = ("torch/serialization.py", "safetensors/torch.py")
_AUTOGRAD = "torch/autograd/graph.py"  # the innermost Python frame where autograd runs in the thread that called it
MAX_SIZES = 4096  # the oldest are dropped; repeated in the backward pass, they would be listed with its line


class AssumedReads:
    """One record per line and operator. `in_backward()` says whether the calling thread runs a backward pass."""

    def __init__(self, report: SteeringReport, in_backward: Callable[[], bool]) -> None:
        self._report = report
        self._in_backward = in_backward
        self._records: dict[tuple[Any, ...], Assumed] = {}
        self._sizes: OrderedDict[tuple[Any, ...], None] = OrderedDict()

    def number(self, operator: str, tensor: Any, value: Any) -> tuple[Any, ...]:
        """`.item()`, `bool()`. Returns a key for the place."""
        return self._note("number", operator, tensor, value)

    def copy(self, operator: str, tensor: Any) -> None:
        """To the host."""
        if not _is_saving():
            self._note("copy", operator, tensor, None)

    def size(self, operator: str, tensor: Any, count: int) -> None:
        """A shape was counted from values. The backward pass of `x[mask]` counts the mask once more: what only repeats
        a size of the forward pass is not a read of its own."""
        size = (operator, tuple(tensor.shape), count)
        if size in self._sizes and self._in_backward() and _is_called_by_autograd():
            return
        self._sizes[size] = None
        if len(self._sizes) > MAX_SIZES:
            self._sizes.popitem(last=False)
        self._note("size", operator, tensor, count)

    def _note(self, how: str, operator: str, tensor: Any, value: Any) -> tuple[Any, ...]:
        place = frames.current()
        key = (how, place.file, place.line, operator)
        known = self._records.get(key)
        if known is not None:
            self._records[key] = replace(known, reads=known.reads + 1)
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
        self._records[key] = record
        self._report.assumed(record)
        return key

    def finish(self) -> None:
        """At the end of the process: how often each was read."""
        for record in self._records.values():
            if record.reads > 1:
                self._report.assumed(record)


def _is_saving() -> bool:
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.endswith(_SAVES):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _is_called_by_autograd() -> bool:
    """Whether autograd's C++ made the call, and not Python code that a backward pass runs: a recomputed layer, say."""
    caller = frames.innermost()[0]
    return not caller or caller.endswith(_AUTOGRAD)
