"""The documentation names what the code has."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from veritasest.spec import estimate
from veritasest.spec.estimate import SCHEMA_VERSION, Estimate

DOCS = Path(__file__).parents[2] / "docs"
NOT_IN_JSON = {"recording"}


def pages() -> str:
    return "\n".join(page.read_text() for page in sorted(DOCS.rglob("*.md")))


def test_every_field_of_the_estimate_is_documented() -> None:
    """By its name, or by the end of a longer one such as `gpu.name`."""
    documented = {name.rpartition(".")[2] for name in re.findall(r"`([a-z_.\[\]0-9]+)`", pages())}
    records = [kind for kind in vars(estimate).values() if dataclasses.is_dataclass(kind) and isinstance(kind, type)]
    assert Estimate in records
    fields = {field.name for kind in records for field in dataclasses.fields(kind)} - NOT_IN_JSON
    assert fields - documented == set()


def test_the_documented_schema_version_is_the_one_written() -> None:
    assert f"`schema_version` is {SCHEMA_VERSION}." in pages()
