"""Bytes to text and back. The only module that knows what a GiB is."""

from __future__ import annotations

import re

from veritasest.errors import UsageError

_BINARY = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
_DECIMAL = {"K", "KB", "M", "MB", "G", "GB", "T", "TB"}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_bytes(text: str) -> int:
    """ "16GiB", "16384MiB", "1.5TiB" or plain bytes. Decimal units are refused: they hide a 7 % difference."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError(f"not a size: {text!r}", "write it like 16GiB, 16384MiB, or in bytes: 17179869184")
    number, unit = match.groups()
    if unit.upper() in _DECIMAL:
        binary = f"{number}{unit[0].upper()}iB"
        raise UsageError(
            f"{text!r} is ambiguous: GPU memory is sold in GiB",
            f"write {binary}, or the exact number of bytes if you mean powers of ten",
        )
    if unit.upper() not in _BINARY:
        raise UsageError(f"unknown unit {unit!r} in {text!r}", "units are B, KiB, MiB, GiB and TiB")
    size = round(float(number) * _BINARY[unit.upper()]) if "." in number else int(number) * _BINARY[unit.upper()]
    if size <= 0:
        raise UsageError(f"a size must be above zero, not {text!r}", "write it like 16GiB")
    return size


def format_bytes(size: int) -> str:
    """Three significant figures or so: "512 B", "527 MiB", "3.23 GiB"."""
    sign, size = ("-", -size) if size < 0 else ("", size)
    if size < 1 << 10:
        return f"{sign}{size} B"
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        scale = _BINARY[unit.upper()]
        if size >= scale:
            return f"{sign}{size / scale:.{_decimals(size / scale)}f} {unit}"
    raise AssertionError(size)


def _decimals(value: float) -> int:
    return 2 if value < 100 else 1 if value < 1000 else 0


def with_article(name: str) -> str:
    """ "an NVIDIA H200", "a Tesla T4": the first letter of a name in capitals is read out, as in "en"."""
    first = name.split()[0] if name.split() else ""
    vowels = "AEFHILMNORSX" if first.isupper() else "AEIOU"
    return f"{'an' if first[:1].upper() in vowels and first else 'a'} {name}"
