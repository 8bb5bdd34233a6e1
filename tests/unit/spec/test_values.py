"""What the user may say about values."""

from __future__ import annotations

from typing import Any

import pytest

from veritasest.errors import UsageError
from veritasest.spec.values import value_policy


@pytest.mark.parametrize(
    ("mode", "assume", "match"),
    [
        ("reel", {}, "no such value mode: 'reel'"),
        ("real:", {}, "no such value mode: 'real:'"),
        ("auto:encoder", {}, "no such value mode"),
        ("auto", {"mask": 1.5}, "cannot assume mask=1.5"),
        ("auto", {"mask": "nan"}, "cannot assume mask=nan"),
        ("auto", {"mask": "half"}, "mask=half is not a number"),
        ("auto", {"mask": None}, "mask=None is not a number"),
        ("auto", {"scalar": float("nan")}, "cannot assume scalar=nan"),
        ("auto", {"finite": "maybe"}, "finite must be yes or no, not 'maybe'"),
        ("auto", {"speed": 3}, "cannot assume speed=3"),
    ],
)
def test_an_invalid_assumption_is_refused(mode: str, assume: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        value_policy(mode, assume, None)


def test_host_memory_can_only_be_limited_for_real_values() -> None:
    assert value_policy("auto", {}, None).host_bytes is None
    assert value_policy("real:head", {}, 5).host_bytes == 5
    assert (value_policy("real", {}, None).host_bytes or 0) > 1 << 20
    with pytest.raises(UsageError, match="no effect with values 'auto'"):
        value_policy("auto", {}, 5)
    for wrong in (0, -5):
        with pytest.raises(UsageError, match=f"above zero, not {wrong}"):
            value_policy("real", {}, wrong)
