"""Values for every field of a dataclass, from its type hints."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, Union

from hypothesis import strategies as st

TEXT = st.text(max_size=12)
# Sizes and addresses reach 2**64; floats are compared exactly, JSON keeps them.
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**64), 2**64),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: TEXT,
    bool: st.booleans(),
    type(None): st.none(),
    Any: st.integers() | TEXT,
}


def instances(kind: type) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(kind)
    fields = {field.name: values(hints[field.name]) for field in dataclasses.fields(kind) if field.init}
    return st.builds(kind, **fields)


def values(hint: Any) -> st.SearchStrategy[Any]:
    if hint in PLAIN:
        return PLAIN[hint]
    if dataclasses.is_dataclass(hint):
        return instances(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of([values(argument) for argument in arguments])
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    if origin is Mapping:
        return st.dictionaries(TEXT, values(arguments[1]), max_size=3)
    raise TypeError(f"no values for {hint!r}")
