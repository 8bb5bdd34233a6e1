"""The shape of a batch: the shapes of the tensors in it, at a cost that does not grow with their bytes.

Known limitations: text counts for nothing, so a job that turns strings into tensors inside its loop hands out batches
that all look alike; of a batch with thousands of parts, the first ones are looked at.
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import FunctionType, ModuleType
from typing import Any

MAX_DEPTH = 6
MAX_PARTS = 4096

_LEAVES = (str, bytes, bytearray, int, float, complex, range, type, ModuleType, FunctionType)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchShape:
    """`elements`: of all tensors. `quadratic_elements`: the same, each tensor times its longest dimension but the
    first: memory that grows with the square of a length is largest there. `on_gpu`: the batch is on the GPU already."""

    signature: int
    elements: int
    quadratic_elements: int
    on_gpu: bool


def describe_batch(batch: Any) -> BatchShape:
    """Never raises: a batch is the user's own object, and may answer as it likes."""
    try:
        arrays = list(_arrays(batch))
    except Exception:  # whatever the user's classes raise
        arrays = []
    shapes = tuple(shape for shape, _ in arrays)
    return BatchShape(
        signature=hash(shapes),
        elements=sum(map(math.prod, shapes)),
        quadratic_elements=sum(math.prod(shape) * max(shape[1:], default=1) for shape in shapes),
        on_gpu=any(on_gpu for _, on_gpu in arrays),
    )


def _arrays(batch: Any) -> Iterator[tuple[tuple[int, ...], bool]]:
    waiting = deque([(batch, 0)])
    for _ in range(MAX_PARTS):
        if not waiting:
            return
        value, depth = waiting.popleft()
        if value is None or isinstance(value, _LEAVES):
            continue
        shape = _shape(value)
        if shape is not None:
            yield shape, bool(getattr(value, "is_cuda", False))
        elif depth < MAX_DEPTH:
            waiting.extend((part, depth + 1) for part in islice(_parts(value), MAX_PARTS))


def _shape(value: Any) -> tuple[int, ...] | None:
    if getattr(value, "is_nested", False) is True:  # a tensor of tensors has no shape of its own
        return (value.numel(),)
    shape = getattr(value, "shape", None)
    return tuple(map(int, shape)) if isinstance(shape, tuple) else None


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return value
    if dataclasses.is_dataclass(value):  # one with slots has no __dict__
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    parts: Iterable[Any] = getattr(value, "__dict__", {}).values()
    return parts
