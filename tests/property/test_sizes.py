"""Sizes as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veritasest.units import format_bytes, parse_bytes


@given(st.integers(1, 2**44))
def test_what_is_written_reads_back_within_rounding(size: int) -> None:
    # Two decimals below 100, one below 1000, none up to 1024: at worst 0.005/1.00, half a per cent.
    assert parse_bytes(format_bytes(size)) == pytest.approx(size, rel=0.006)
