"""What a reporter is. Each module of this package that has a `REPORTER` is one, and is found by its name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TextIO

from veritasest.spec.estimate import Estimate
from veritasest.trace.recording import Recording

Write = Callable[[Estimate, "Recording | None", TextIO], None]


@dataclass(frozen=True, kw_only=True)
class Reporter:
    """`name` is also its option: --NAME FILE. `write` gets the recording for what is not in the estimate, such as a
    timeline; it is None if nothing was run."""

    name: str
    help: str
    write: Write


@cache
def reporters() -> Mapping[str, Reporter]:
    """By name."""
    package = importlib.import_module("veritasest.report")
    names = [found.name for found in pkgutil.iter_modules(package.__path__)]
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    found = [module.REPORTER for module in modules if hasattr(module, "REPORTER")]
    return {reporter.name: reporter for reporter in found}
