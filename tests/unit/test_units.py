import pytest

from veritasest.errors import UsageError
from veritasest.units import format_bytes, parse_bytes, with_article


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


@pytest.mark.parametrize(
    ("name", "expected"), [("NVIDIA H200", "an NVIDIA H200"), ("Tesla T4", "a Tesla T4"), ("", "a ")]
)
def test_names_get_their_article(name: str, expected: str) -> None:
    assert with_article(name) == expected
