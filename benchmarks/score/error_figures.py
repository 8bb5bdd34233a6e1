"""Single figures of many errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean, median

from benchmarks.score.benchmark_data import error_percent


def nearest_rank(values: Sequence[float], share: float) -> float:
    """The smallest of the values that at least this share of the values does not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def figure(function: Callable[[Sequence[float]], float], values: Sequence[float]) -> float | None:
    """None for no values; otherwise six significant digits, so that an error of one byte is never rounded to 0."""
    return float(f"{function(values):.6g}") if values else None


def errors(pairs: Sequence[tuple[int | None, int]]) -> dict:
    """Of pairs of estimate and truth. Some keep their sign, since too low is worse than too high."""
    signed = [error_percent(estimate, truth) for estimate, truth in pairs if estimate is not None]
    sizes = [abs(error) for error in signed]
    return {
        "jobs": len(pairs),
        "answered": len(signed),
        "mre_percent": figure(median, sizes),
        "mean_percent": figure(fmean, sizes),
        "p95_percent": figure(lambda values: nearest_rank(values, 0.95), sizes),
        "worst_percent": figure(lambda values: max(values, key=abs), signed),
        "bias_percent": figure(fmean, signed),
        "under_share": figure(fmean, [error < 0 for error in signed]),
        "exact_share": figure(fmean, [estimate == truth for estimate, truth in pairs]),
    }
