"""Warnings about requirements close to what the GPU has."""

from __future__ import annotations

from collections.abc import Iterable

from veritasest.spec.enums import Verdict
from veritasest.spec.estimate import RankEstimate
from veritasest.spec.gpu import GPU
from veritasest.units import format_bytes, with_article


def limit_warnings(gpu: GPU, worst: RankEstimate, verdict: Verdict) -> Iterable[str]:
    if worst.needs.unconstrained_bytes is None:
        return
    yield from _beyond_in_some_runs(worst, verdict)
    yield from _near_limit(gpu, worst, worst.needs.unconstrained_bytes)
    yield from _within_reported_totals(gpu, worst, worst.needs.unconstrained_bytes)


def _beyond_in_some_runs(worst: RankEstimate, verdict: Verdict) -> Iterable[str]:
    repeats = worst.needs.repeats_range_bytes
    if repeats is not None and repeats[1] > worst.available_bytes and verdict is Verdict.FITS:
        yield (
            f"close to the limit: some runs of this job would reserve {format_bytes(repeats[1])}, more than the "
            f"{format_bytes(worst.available_bytes)} available; PyTorch then frees its cache and retries"
        )


def _near_limit(gpu: GPU, worst: RankEstimate, unconstrained_bytes: int) -> Iterable[str]:
    """What was not measured matters only where the verdict depends on it."""
    if gpu.evidence.get("context_bytes") == "measured":
        return
    if abs(worst.available_bytes - unconstrained_bytes) <= gpu.context_bytes + worst.library_overhead_bytes:
        where = with_article(gpu.name)
        yield f"close to the limit: CUDA context and library memory on {where} are assumed, not measured"


def _within_reported_totals(gpu: GPU, worst: RankEstimate, unconstrained_bytes: int) -> Iterable[str]:
    """Drivers differ in how much of a GPU they leave: a requirement in between fits with some of them only."""
    totals = gpu.total_bytes_range
    if totals is None:
        return
    needed_bytes = unconstrained_bytes + worst.processes * gpu.context_bytes + worst.library_overhead_bytes
    if totals[0] < needed_bytes <= totals[1]:
        low, high = (format_bytes(total) for total in totals)
        reported = f"reported totals of the {gpu.name} range from {low} to {high} depending on the driver"
        yield f"close to the limit: {reported}"
