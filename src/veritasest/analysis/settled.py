"""Whether the peak had stopped growing when a run ended."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from veritasest.spec.enums import EndReason, ExitReason
from veritasest.spec.stop import SETTLE_QUIET_STEPS
from veritasest.trace import End, Exit, Step, Trace

_PEAKS = (attrgetter("allocated_peak_bytes"), attrgetter("reserved_peak_bytes"))


def settled(trace: Trace, ending: Exit) -> bool:
    ends = {end.reason for end in trace.of(End)}
    if EndReason.SETTLED in ends:
        return True
    if EndReason.STEPS in ends or ending.reason is not ExitReason.EXITED:
        return is_quiet(trace)
    return True


def is_quiet(trace: Trace) -> bool:
    """Whether the last steps reached no new peak, allocated or reserved, on any device or in any process."""
    return all(_is_quiet(_peaks_by_step(trace, peak_of)) for peak_of in _PEAKS)


def is_growing(trace: Trace) -> bool:
    """Whether the last steps did reach a new peak; neither this nor `is_quiet` holds for very few steps."""
    peaks = [_peaks_by_step(trace, peak_of) for peak_of in _PEAKS]
    quiet = SETTLE_QUIET_STEPS
    return any(len(known) > 1 and max(known[-quiet:]) > max(known[:-quiet] or known[:1]) for known in peaks)


def _is_quiet(peaks: list[int]) -> bool:
    return len(peaks) > SETTLE_QUIET_STEPS and max(peaks) in peaks[:-SETTLE_QUIET_STEPS]


def _peaks_by_step(trace: Trace, peak_of: Callable[[Step], int]) -> list[int]:
    highest: dict[int, int] = {}
    for step in trace.of(Step):
        highest[step.step] = max(highest.get(step.step, 0), peak_of(step))
    return [highest[step] for step in sorted(highest)]
