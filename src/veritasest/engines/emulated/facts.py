"""The table of measured facts (native/facts) as the built device has it, for documentation and tests.

A row is a size or constant that was measured rather than documented: on which GPU, with which library, what it may be
elsewhere, and which recording shows it. The device asks the same table whether an answer is exact on the target GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veritasest.units import format_bytes

_CORE = "libveritasest.so"
_KINDS = ("size", "overhead", "placement", "everywhere")  # enum vest_fact_kind


class _SpreadLayout(ctypes.Structure):
    """struct vest_fact_spread."""

    _fields_ = [
        *((name, ctypes.c_uint) for name in ("low_percent", "high_percent")),
        ("margin", ctypes.c_uint64),
        ("otherwise", ctypes.c_char_p),
    ]


class _RowLayout(ctypes.Structure):
    """struct vest_fact_row."""

    _fields_ = [
        *((name, ctypes.c_char_p) for name in ("name", "library", "what", "evidence")),
        *((name, ctypes.c_int) for name in ("kind", "cc", "sms", "version")),
        ("value", ctypes.c_uint64),
        ("other_shapes", _SpreadLayout),
        ("elsewhere", _SpreadLayout),
    ]


class _VersionLayout(ctypes.Structure):
    """struct vest_version."""

    _fields_ = [
        ("library", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("cuda", ctypes.c_int),
        ("parts", ctypes.c_int * 3),
    ]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Bounds around a modelled size: both percentages of it, less and plus the margin. `alternative` says, in words,
    what else may be the upper bound."""

    low_percent: int
    high_percent: int
    margin_bytes: int
    alternative: str

    def around(self, size: int) -> tuple[int, int]:
        low, high = size * self.low_percent // 100, size * self.high_percent // 100
        return max(low - self.margin_bytes, 0), high + self.margin_bytes

    def __str__(self) -> str:
        margin = f", less and plus {format_bytes(self.margin_bytes)}" if self.margin_bytes else ""
        alternative = f", or {self.alternative}" if self.alternative else ""
        return f"{self.low_percent} to {self.high_percent} %{margin}{alternative}"


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One row. `cc`, `sms` and `version` say where it was measured, 0 standing for all of them; `version` is CUDA's
    major, or for cuDNN 100 times the major plus the minor. `value_bytes` is 0 for a formula."""

    number: int
    name: str
    kind: str
    library: str
    what: str
    cc: int
    sms: int
    version: int
    value_bytes: int
    other_shapes: Spread
    elsewhere: Spread
    evidence: str

    @property
    def measured_on(self) -> str:
        if not self.cc:
            return "everywhere"
        library = f"cuDNN {self.version // 100}.{self.version % 100}" if self.version >= 100 else f"CUDA {self.version}"
        return f"sm_{self.cc}, {self.sms} SMs, {library}"


def load(libraries: Path) -> tuple[Fact, ...]:
    """Every row of the device built in `libraries`."""
    row_at = ctypes.CDLL(str(libraries / _CORE)).vest_fact_row
    row_at.restype = ctypes.POINTER(_RowLayout)
    return tuple(_fact(number, row) for number, row in _rows(row_at))


def versions(libraries: Path) -> tuple[tuple[str, int, str], ...]:
    """Library, CUDA major (0: all) and version of every row of versions.def."""
    row_at = ctypes.CDLL(str(libraries / _CORE)).vest_version_row
    row_at.restype = ctypes.POINTER(_VersionLayout)
    return tuple((row.name.decode().lower(), row.cuda, ".".join(map(str, row.parts))) for _, row in _rows(row_at))


def markdown(facts: Sequence[Fact]) -> str:
    """The table for the documentation."""
    lines = [
        "| library | fact | kind | measured on | value | bounds elsewhere | evidence |",
        "|---|---|---|---|---|---|---|",
    ]
    for fact in facts:
        value = format_bytes(fact.value_bytes) if fact.value_bytes else "formula"
        bounds = str(fact.elsewhere) if fact.kind == "size" else ""
        cells = (fact.library, fact.what, fact.kind, fact.measured_on, value, bounds, fact.evidence)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _rows(row_at: Callable[[int], Any]) -> Iterator[tuple[int, ctypes.Structure]]:
    number = 0
    while row := row_at(number):
        yield number, row.contents
        number += 1


def _fact(number: int, row: ctypes.Structure) -> Fact:
    return Fact(
        number=number,
        kind=_KINDS[row.kind],
        value_bytes=row.value,
        other_shapes=_spread(row.other_shapes),
        elsewhere=_spread(row.elsewhere),
        cc=row.cc,
        sms=row.sms,
        version=row.version,
        name=row.name.decode(),
        library=row.library.decode(),
        what=row.what.decode(),
        evidence=row.evidence.decode(),
    )


def _spread(spread: ctypes.Structure) -> Spread:
    return Spread(
        low_percent=spread.low_percent,
        high_percent=spread.high_percent,
        margin_bytes=spread.margin,
        alternative=(spread.otherwise or b"").decode(),
    )
