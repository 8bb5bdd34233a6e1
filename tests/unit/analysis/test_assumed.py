"""Lines of the user's code that read values which were not computed."""

from __future__ import annotations

from typing import Any

import pytest
from traces import trace

from veritasest.analysis.assumed import assumed_values, sizes_are_assumed
from veritasest.trace import Assumed, Process


def read(how: str, line: int, **more: Any) -> Assumed:
    return Assumed(pid=1, t=0, how=how, operator="nonzero", file="train.py", line=line, **more)


def test_lines_that_read_assumed_values_are_listed_once_each_sizes_first() -> None:
    events = [read("copy", 9), read("number", 7, value=0.5), read("size", 8), read("number", 7, value=0.25, reads=3)]
    events += [read("size", 9, value=12), read("copy", 9, reads=50)]
    found = [
        (one.how, one.line, one.value, one.reads) for one in assumed_values(trace(*events[:3]), trace(*events[3:]))
    ]
    assert found == [("size", 9, 12, 1), ("size", 8, None, 1), ("number", 7, 0.5, 3)]


def test_allocation_sizes_depend_on_counted_sizes_only() -> None:
    assert not sizes_are_assumed(trace(read("number", 7), read("copy", 8)))
    assert sizes_are_assumed(trace(read("number", 7), read("size", 8)))
    assert assumed_values(trace(Process(torch="2.11.0"))) == ()


@pytest.mark.parametrize(
    ("how", "dtype", "code", "matters"),
    [
        ("number", "float32", 'print(f"loss {loss.item():.3f}")', False),
        ("number", "bfloat16", "total += loss.item()", False),
        ("number", "float32", "if loss.item() > best:", True),
        ("number", "float32", "while not done(loss):", True),
        ("number", "float32", "keep = loss.item() < 0.5", True),
        ("number", "int64", "length = lengths.max().item()", True),
        ("number", "float32", "for _ in range(int(steps.item())):", True),
        ("size", "bool", "x[mask]", True),
        ("copy", "float32", "losses.append(loss.cpu())", False),
    ],
)
def test_a_value_matters_where_memory_may_depend_on_it(how: str, dtype: str, code: str, matters: bool) -> None:
    (value,) = assumed_values(trace(read(how, 3, dtype=dtype, code=code)))
    assert value.matters is matters
