"""Specifications and estimates survive the way through JSON."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil

import pytest
from dataclass_strategies import instances
from hypothesis import given, settings
from hypothesis import strategies as st

import veritasest.spec
from veritasest.spec.codec import from_plain, to_plain
from veritasest.trace.recording import Manifest


def specifications() -> list[type]:
    """Every dataclass that is defined in veritasest.spec."""
    names = [module.name for module in pkgutil.iter_modules(veritasest.spec.__path__)]
    modules = [importlib.import_module(f"veritasest.spec.{name}") for name in names]
    return [
        kind
        for module in modules
        for kind in vars(module).values()
        if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind.__module__ == module.__name__
    ]


KINDS = [*specifications(), Manifest]


def test_the_specifications_are_found() -> None:
    assert {"JobSpec", "RunSpec", "StopRule", "ValuePolicy", "GPU", "Estimate"} <= {kind.__name__ for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=20)
def test_every_specification_is_read_as_it_was_written(kind: type, data: st.DataObject) -> None:
    """Also by an older version: fields that it does not know are ignored."""
    written = data.draw(instances(kind))
    plain = json.loads(json.dumps(to_plain(written)))
    assert from_plain(kind, plain) == written
    assert from_plain(kind, {**plain, "added_later": [1, 2]}) == written
