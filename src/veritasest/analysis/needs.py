"""How much memory a job needs, with the ranges that several runs span."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from veritasest.analysis.allocator import address_range
from veritasest.analysis.assumed import sizes_are_assumed
from veritasest.analysis.completed import CompletedRun, find
from veritasest.spec.enums import Bound, Purpose, Verdict
from veritasest.spec.estimate import Needs, Range
from veritasest.trace import Trace, Unmodelled

PATIENCE_S = 60.0  # a job that takes longer is not run again to see what depends on assumed values

_GUESSES = (Purpose.GUESSES_LOW, Purpose.GUESSES_HIGH)
_CHOICES = (Purpose.CHOICES_NONE, Purpose.CHOICES_ALL)


def guess_bounds(trace: Trace) -> tuple[Bound, ...]:
    """The bounds worth a run: guesses that are their own lower bound have only the upper one."""
    how = {event.how for event in trace.of(Unmodelled)}
    return (Bound.LOW, Bound.HIGH) if "bounded" in how else (Bound.HIGH,) if "bounded above" in how else ()


def needs(runs: Sequence[CompletedRun], unlimited: CompletedRun | None, *, minimum: bool) -> Needs:
    """`minimum`: whether the minimum capacity was asked for."""
    if unlimited is None:
        return Needs()
    least = _minimum(runs, unlimited) if minimum else None
    found = Needs(unconstrained_bytes=unlimited.peak.reserved_bytes, minimum_bytes=least)
    found = _with_guesses(found, runs, unlimited)
    return replace(
        found,
        assumed_range_bytes=_assumed_range(runs, unlimited),
        timing_range_bytes=_timing_range(runs, unlimited),
        address_range_bytes=address_range(unlimited.trace),
    )


def _minimum(runs: Sequence[CompletedRun], unlimited: CompletedRun) -> int:
    """The smallest capacity that was tried and sufficed."""
    trials = [run for run in runs if run.purpose is Purpose.MINIMUM]
    sufficed = [run.spec.limit_bytes or 0 for run in trials if run.completes_like(unlimited)]
    return min([unlimited.peak.reserved_bytes, *sufficed])


def _with_guesses(found: Needs, runs: Sequence[CompletedRun], unlimited: CompletedRun) -> Needs:
    """Reserved memory may move either way with a workspace, hence the least and most of all runs. The minimum follows
    the allocated peak, so its range moves by as much as that peak."""
    bounds = [run for run in runs if run.purpose in _GUESSES]
    if not bounds:
        return found
    allocated = [run.peak.allocated_bytes or 0 for run in (unlimited, *bounds)]
    moves = [size - allocated[0] for size in allocated]
    least = found.minimum_bytes
    return replace(
        found,
        guessed_range_bytes=_extremes(run.peak.reserved_bytes for run in (unlimited, *bounds)),
        guessed_minimum_range_bytes=None if least is None else (least + min(moves), least + max(moves)),
    )


def _assumed_range(runs: Sequence[CompletedRun], unlimited: CompletedRun) -> Range | None:
    completed = [run for run in runs if run.purpose in _CHOICES and run.completes_like(unlimited)]
    ends = _extremes(run.peak.reserved_bytes for run in (unlimited, *completed))
    return ends if ends[0] < ends[1] else None


def _timing_range(runs: Sequence[CompletedRun], unlimited: CompletedRun) -> Range | None:
    late = find(runs, Purpose.LATE_EVENTS)
    if late is None or not late.completes_like(unlimited):
        return None
    # Blocks that are freed late compete with others than those that are freed at once.
    elsewhere = address_range(late.trace) or ()
    low, high = _extremes((unlimited.peak.reserved_bytes, late.peak.reserved_bytes, *elsewhere[1:]))
    return (low, high) if low < high else None


def _extremes(sizes: Iterable[int]) -> Range:
    known = list(sizes)
    return min(known), max(known)


def unknown_ranges(runs: Sequence[CompletedRun], unlimited: CompletedRun | None) -> Iterable[str]:
    """Ranges that could not be measured."""
    if unlimited is None:
        return
    late = find(runs, Purpose.LATE_EVENTS)
    if late is not None and not late.completes_like(unlimited):
        yield (
            "how much memory depends on kernel timing is unknown: the run in which blocks of several streams are "
            "reused as late as possible did not complete"
        )
    if not sizes_are_assumed(unlimited.trace):
        return
    choices = [run for run in runs if run.purpose in _CHOICES]
    if not choices and unlimited.summary.elapsed_s > PATIENCE_S:
        yield (
            "some allocation sizes depend on assumed values; the effect was not measured because a run takes over "
            f"{PATIENCE_S:.0f} s"
        )
    if choices and not any(run.completes_like(unlimited) for run in choices):
        yield "some allocation sizes depend on assumed values; the effect is unknown: the job fails at both extremes"


def unlimited_failure(runs: Sequence[CompletedRun]) -> Iterable[str]:
    run = find(runs, Purpose.UNLIMITED)
    if run is not None and run.verdict is not Verdict.FITS:
        why = run.result.failure or run.result.undetermined
        reason = why.message if why else "no reason recorded"
        yield f"the unlimited run did not finish, so the requirement is unknown: {reason}"
