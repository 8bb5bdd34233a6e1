"""The search for the minimum capacity."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from veritasest.studies.minimum import smallest_that_completes


@given(st.integers(1, 10**11), st.floats(1.0, 1.6), st.floats(0, 1))
def test_the_bisection_finds_the_threshold_within_its_tolerance(allocated: int, spread: float, at: float) -> None:
    reserved = round(allocated * spread)
    threshold = round(allocated + at * (reserved - allocated))
    runs: list[int] = []

    def completes(limit: int) -> bool:
        runs.append(limit)
        return limit >= threshold

    found = smallest_that_completes(fails_bytes=allocated, completes_bytes=reserved, completes=completes)
    assert found >= threshold
    # 60 % halved eight times is 0.23 %: the tolerance is reached with the runs allowed.
    assert found - threshold <= 0.0025 * found + 1
    assert len(runs) <= 8
