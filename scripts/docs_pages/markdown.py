"""Markdown with lines of at most 120 characters, and dataclasses as Markdown."""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from collections.abc import Iterable
from typing import Any

from veritasest import __version__
from veritasest.spec.enums import Word

WIDTH = 118
NOTE = "<!-- Written by scripts/generate-docs: do not edit. -->"


def page(title: str, *parts: str) -> str:
    return "\n\n".join([NOTE, f"# {title}", *(part.strip("\n") for part in parts if part.strip())]) + "\n"


def table(headers: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    listed = [list(headers)]
    cells = [*listed, ["---"] * len(listed[0]), *([*row] for row in rows)]
    return "\n".join(f"| {' | '.join(str(cell) for cell in row)} |" for row in cells)


def item(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False)


def prose(text: str) -> str:
    """Paragraphs, filled again; tables stay as they are, indented ones become code."""

    def paragraph(part: str) -> str:
        if part.startswith(" "):
            return code(textwrap.dedent(part))
        return part if part.startswith(("|", "-")) else textwrap.fill(part, WIDTH)

    return "\n\n".join(paragraph(part) for part in inspect.cleandoc(text).split("\n\n"))


def code(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def fields_of(kind: Any) -> str:
    """The fields of a dataclass, with types and defaults."""
    lines = []
    for field in dataclasses.fields(kind):
        implied = field.default in (dataclasses.MISSING, __version__)
        default = "" if implied else f", default `{_plain(field.default)}`"
        lines.append(item(f"`{field.name}`: `{field.type}`{default}"))
    return "\n".join(lines)


def _plain(value: Any) -> str:
    return repr(value.value) if isinstance(value, Word) else repr(value)


def record(kind: Any, title: str | None = None) -> str:
    documented = kind.__doc__ if kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}(") else ""
    return "\n\n".join(filter(None, [f"### {title or kind.__name__}", prose(documented), fields_of(kind)]))
