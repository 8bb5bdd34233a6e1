"""The settings that the launcher passes on arrive as they were given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veritasest.engines.emulated.steering.settings import SteeringSettings, of_run
from veritasest.gpus import find
from veritasest.spec.enums import Choices
from veritasest.spec.run import RunSpec
from veritasest.spec.values import ValuePolicy, value_policy


def settings(values: ValuePolicy) -> SteeringSettings:
    return of_run(RunSpec(gpu=find("h200"), limit_bytes=None, values=values))


@given(
    mask=st.none() | st.floats(0, 1),
    scalar=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    finite=st.none() | st.booleans(),
)
def test_assumptions_arrive_as_the_user_gave_them(
    mask: float | None, scalar: float | None, finite: bool | None
) -> None:
    given_ = {"mask": mask, "scalar": scalar, "finite": finite}
    named = {kind: value for kind, value in given_.items() if value is not None}
    assert settings(value_policy("auto", named, None)) == SteeringSettings(mode="auto", **named)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mode", "computes_all", "submodule", "wants_real"),
    [
        ("auto", False, "", False),
        ("real", True, "", True),
        ("real:roi_heads", False, "roi_heads", True),
    ],
)
def test_the_mode_says_where_values_are_real(mode: str, computes_all: bool, submodule: str, wants_real: bool) -> None:
    policy = settings(value_policy(mode, {}, None))
    assert (policy.computes_all, policy.submodule, policy.wants_real_values) == (computes_all, submodule, wants_real)


def test_host_memory_arrives_in_bytes() -> None:
    assert settings(value_policy("real", {}, 5)).host_bytes == 5


@pytest.mark.parametrize(("choices", "fraction"), [(None, 0.25), (Choices.NONE, 0.0), (Choices.ALL, 1.0)])
def test_bounds_replace_the_assumed_fraction(choices: Choices | None, fraction: float) -> None:
    policy = SteeringSettings(mask=0.25, choices=choices)
    assert policy.assumed_fraction == fraction
    assert policy.rows_alike == (choices is Choices.ALL)
