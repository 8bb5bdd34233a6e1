"""What differs from run to run on the same GPU, and what that means for the verdict.

Two things that a GPU does not decide the same way each time move a job's reserved memory:
- timing: blocks that another stream used can be used again when the GPU has got that far. The first run sees them come
  back at once, a further one as late as they can (native/core/order.c).
- addresses: which of several equal free blocks is taken. That is simulated from the run's own history
  (analysis/allocator), without a further run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from veritasest import analysis
from veritasest.job import Job, Seen, as_far_as, run_aside
from veritasest.spec.estimate import Needs, Run
from veritasest.trace import DeferredFree
from veritasest.units import format_bytes

LATE_EVENTS = {"VERITASEST_EVENTS": "late"}
TIMING_UNKNOWN = (
    "how much memory depends on kernel timing is not known: the run in which blocks of several streams are reused as "
    "late as possible did not complete"
)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The needs with their ranges, the run that the verdict comes from, and the runs that it took to tell."""

    needs: Needs
    decides: Seen
    runs: tuple[Run, ...] = ()
    warnings: tuple[str, ...] = ()


def spread(job: Job, path: Path, first: Seen, unlimited: Seen, needs: Needs) -> Spread:
    """`first` ran at the GPU's capacity, `unlimited` without a limit; one run may be both. The upper end decides."""
    needs = replace(needs, address_range_bytes=analysis.address_range(unlimited.trace))
    found = Spread(needs=needs, decides=first)
    if unlimited.trace.of(DeferredFree):
        found = _with_late_events(job, path, unlimited, found)
    repeats = found.needs.repeats_range_bytes
    available = job.gpu.available_bytes - analysis.libraries_bytes(unlimited.trace)
    if repeats is None or repeats[1] <= available or found.decides.judgement.verdict != "fits":
        return found
    return replace(found, warnings=(*found.warnings, _close_to_the_limit(repeats[1], available)))


def _with_late_events(job: Job, path: Path, unlimited: Seen, found: Spread) -> Spread:
    """The job once more, its blocks coming back late; and at capacity, if it takes more than there is that way."""
    late_job = replace(job, env={**job.env, **LATE_EVENTS}, stop=as_far_as(unlimited, job))
    late = run_aside(late_job, path, "late", None, keep=False)
    found = replace(found, runs=(late.run,))
    if late.judgement.verdict != "fits" or late.steps < unlimited.steps:
        return replace(found, warnings=(TIMING_UNKNOWN,))
    # Blocks that come back late tie with others than those that come back at once.
    elsewhere = analysis.address_range(late.trace) or ()
    reserved = sorted((unlimited.peak.reserved_bytes, late.peak.reserved_bytes, *elsewhere[1:]))
    if reserved[0] < reserved[-1]:
        found = replace(found, needs=replace(found.needs, timing_range_bytes=(reserved[0], reserved[-1])))
    available = job.gpu.available_bytes - analysis.libraries_bytes(unlimited.trace)
    if found.decides.judgement.verdict != "fits" or late.peak.reserved_bytes <= available:
        return found
    limited = run_aside(late_job, path, "late", available, keep=False)
    decides = limited if limited.judgement.verdict == "does_not_fit" else found.decides
    return replace(found, runs=(late.run, limited.run), decides=decides)


def _close_to_the_limit(upper_bytes: int, available_bytes: int) -> str:
    return (
        f"close to the limit: some runs of this job would reserve {format_bytes(upper_bytes)}, more than the "
        f"{format_bytes(available_bytes)} there are; PyTorch then empties its cache and tries again"
    )
