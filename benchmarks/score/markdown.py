"""Markdown tables and the cells in them."""

from __future__ import annotations

from collections.abc import Sequence

GIB = 2**30
NOTHING = "Not recorded."


def percent(value: float | None, sign: str = "") -> str:
    return "-" if value is None else "0 %" if value == 0 else f"{value:{sign}.3f} %"


def share(value: float | None) -> str:
    return percent(None if value is None else 100 * value)


def gib(value: float | None) -> str:
    return "-" if value is None else f"{value / GIB:.2f}"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def markdown(title: str, headers: Sequence[str], rows: Sequence[Sequence[object]], *, note="", empty=NOTHING) -> str:
    lines = [f"## {title}", *([note, ""] if note else [])]
    if not rows:
        return "\n".join([*lines, empty, ""])
    cells = [headers, ["---"] * len(headers), *rows]
    text = [[str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in cells]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in text), ""])
