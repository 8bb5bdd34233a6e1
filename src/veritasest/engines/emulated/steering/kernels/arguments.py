"""Walks an operator's arguments and results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def tensors(torch: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[int | str, Any]]:
    """All tensors with their position or name, those in lists included."""
    is_tensor = torch.is_tensor
    for place, value in enumerate(args):
        if is_tensor(value):
            yield place, value
        elif isinstance(value, (list, tuple)):
            for item in value:
                if is_tensor(item):
                    yield place, item
    for name, value in kwargs.items():
        for item in listed(value):
            if is_tensor(item):
                yield name, item


def listed(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else (value,)


def at(place: int | str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The argument at a position or with a name; None if it was not given."""
    if isinstance(place, str):
        return kwargs.get(place)
    return args[place] if place < len(args) else None


def all_float(torch: Any, values: Any) -> bool:
    return all(torch.is_tensor(value) and value.dtype.is_floating_point for value in values)
