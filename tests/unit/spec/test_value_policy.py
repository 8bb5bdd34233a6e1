"""What a user may ask for about values that are not computed."""

from __future__ import annotations

from typing import Any

import pytest

from veritasest.errors import UsageError
from veritasest.spec.values import ValuePolicy, value_policy


def test_by_default_values_that_control_the_flow_are_computed() -> None:
    assert value_policy("auto", {}, None) == ValuePolicy()


@pytest.mark.parametrize(
    ("mode", "real", "module"),
    [("auto", False, ""), ("off", False, ""), ("real", True, ""), ("real:head.fc", True, "head.fc")],
)
def test_the_mode_says_what_is_real(mode: str, real: bool, module: str) -> None:
    policy = value_policy(mode, {}, None)
    assert (policy.is_real, policy.module) == (real, module)


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
def test_what_cannot_be_assumed_is_refused(mode: str, assume: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        value_policy(mode, assume, None)


def test_assumptions_are_numbers_and_yes_or_no() -> None:
    given = value_policy("auto", {"mask": "0.25", "scalar": 3, "finite": "no"}, None)
    assert (given.mask, given.scalar, given.finite) == (0.25, 3.0, False)


def test_a_limit_on_host_memory_goes_with_real_values_only() -> None:
    assert value_policy("auto", {}, None).host_bytes is None
    assert value_policy("real:head", {}, 5).host_bytes == 5
    assert (value_policy("real", {}, None).host_bytes or 0) > 1 << 20
    with pytest.raises(UsageError, match="has no effect with values 'auto'"):
        value_policy("auto", {}, 5)
    for wrong in (0, -5):
        with pytest.raises(UsageError, match=f"above zero, not {wrong}"):
            value_policy("real", {}, wrong)
