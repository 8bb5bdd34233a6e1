from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from veritasest.spec.estimate import (
    SCHEMA_VERSION,
    Estimate,
    Failure,
    FileChanges,
    GpuFacts,
    Needs,
    Peak,
    Provenance,
    Run,
)

TEXT = (Path(__file__).parents[2] / "docs" / "json.md").read_text()


def names(kind: type) -> set[str]:
    return {field.name for field in dataclasses.fields(kind)}


def test_every_field_of_the_estimate_is_documented() -> None:
    documented = set(re.findall(r"`([a-z_.]+)`", TEXT))
    nested = {"gpu": GpuFacts, "peak": Peak, "needs": Needs}
    expected = names(Estimate) - set(nested)
    expected |= {f"{prefix}.{name}" for prefix, kind in nested.items() for name in names(kind)}
    expected |= names(Failure) | names(Provenance) | names(Run) | names(FileChanges)
    assert expected - documented == set()


def test_the_documented_schema_version_is_the_one_written() -> None:
    assert f"`schema_version` is {SCHEMA_VERSION}." in TEXT
