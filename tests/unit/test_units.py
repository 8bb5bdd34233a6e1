import pytest
from hypothesis import given
from hypothesis import strategies as st

from veritasest.errors import UsageError
from veritasest.units import format_bytes, parse_bytes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16GiB", 16 * 2**30),
        ("16384MiB", 16 * 2**30),
        ("17179869184", 16 * 2**30),
        ("1.5TiB", 3 * 2**39),
        ("16 gib", 16 * 2**30),
    ],
)
def test_sizes_are_read(text: str, expected: int) -> None:
    assert parse_bytes(text) == expected


@pytest.mark.parametrize("text", ["24GB", "24G", "24gb"])
def test_a_decimal_unit_is_refused_and_gib_suggested(text: str) -> None:
    with pytest.raises(UsageError, match="GiB") as caught:
        parse_bytes(text)
    assert "24GiB" in caught.value.hint


@pytest.mark.parametrize("text", ["", "GiB", "-3GiB", "0", "12parsecs", "1e3"])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"size|unit"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("size", "expected"), [(0, "0 B"), (1023, "1023 B"), (3466592256, "3.23 GiB"), (-(1 << 20), "-1.00 MiB")]
)
def test_sizes_are_written(size: int, expected: str) -> None:
    assert format_bytes(size) == expected


@given(st.integers(1, 2**44))
def test_what_is_written_reads_back_within_rounding(size: int) -> None:
    # Two decimals below 100, one below 1000, none up to 1024: at worst 0.005/1.00, half a per cent.
    assert parse_bytes(format_bytes(size)) == pytest.approx(size, rel=0.006)
