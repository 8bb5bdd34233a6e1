"""Frozen dataclasses to JSON and back. Also used inside the user's process: standard library only.

Known limitations: fields are plain values, enums, dataclasses, tuples of those, or mappings from text to plain values;
a union may only add None, or mix plain values.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, cast

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """What json.dumps() writes: dicts, lists, numbers and text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return value


def from_plain(kind: type[T], record: Mapping[str, Any]) -> T:
    """The dataclass that `record` was written from. Unknown fields are ignored, missing ones take their default."""
    hints = _hints(cast("Any", kind))
    return kind(**{name: _value(hints[name], item) for name, item in record.items() if name in hints})


def _value(hint: Any, item: Any) -> Any:
    hint = _without_none(hint)
    if item is None or hint is Any:
        return item
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return from_plain(hint, item)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(item)
    if isinstance(item, list):
        arguments = typing.get_args(hint)
        inner = arguments[0] if arguments else Any
        return tuple(_value(inner, one) for one in item) if _is_record(inner) else tuple(item)
    return item


def _is_record(hint: Any) -> bool:
    return isinstance(hint, type) and (dataclasses.is_dataclass(hint) or issubclass(hint, Enum))


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) in (Union, types.UnionType):
        kept = [part for part in typing.get_args(hint) if part is not type(None)]
        return kept[0] if len(kept) == 1 else Any
    return hint


@cache
def _hints(kind: Any) -> dict[str, Any]:
    resolved = typing.get_type_hints(kind)
    return {field.name: resolved[field.name] for field in dataclasses.fields(kind) if field.init}
