"""Pure functions from a recording to an estimate."""

from veritasest.analysis.assumed import sizes_are_assumed
from veritasest.analysis.completed import (
    CompletedRun,
    capacity_run,
    complete,
    needs_unlimited,
    skipped_parts,
    unlimited_run,
)
from veritasest.analysis.estimate import estimate
from veritasest.analysis.needs import PATIENCE_S, guess_bounds
from veritasest.analysis.peaks import library_overhead_bytes

__all__ = [
    "PATIENCE_S",
    "CompletedRun",
    "capacity_run",
    "complete",
    "estimate",
    "guess_bounds",
    "library_overhead_bytes",
    "needs_unlimited",
    "sizes_are_assumed",
    "skipped_parts",
    "unlimited_run",
]
