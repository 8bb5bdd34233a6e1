"""The benchmarks are an ordinary package."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import benchmarks

FOLDER = Path(benchmarks.__file__).parent
PACKAGES = ("estimate", "record", "score")
MODULES = [f"benchmarks.{path.stem}" for path in FOLDER.glob("*.py") if path.stem != "__init__"]
MODULES += [f"benchmarks.{name}.{path.stem}" for name in PACKAGES for path in (FOLDER / name).glob("[!_]*.py")]


@pytest.mark.parametrize("name", sorted(set(MODULES) - {"benchmarks.score.plots"}))  # which needs matplotlib
def test_module_can_be_imported_and_says_what_it_holds(name: str) -> None:
    assert importlib.import_module(name).__doc__


def test_no_module_changes_the_search_path() -> None:
    changing = re.compile(r"sys\.path\.(insert|append|extend)")
    assert [path.name for path in FOLDER.rglob("*.py") if changing.search(path.read_text())] == []
