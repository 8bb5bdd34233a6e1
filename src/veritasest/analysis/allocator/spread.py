"""How far the reserved peak of a job moves with the addresses that the driver gives its segments.

PyTorch takes the free block at the lowest address among those of equal size, and which one that is differs from run to
run. `pytorch/examples` mnist reserved 666,894,336 bytes in three runs on an H200 and 629,145,600 in a fourth; the
simulation finds both, and no third, under the layouts of `layouts.py`.
"""

from __future__ import annotations

from veritasest.analysis.allocator.history import Request, histories, replay, reproduce, requests
from veritasest.analysis.allocator.layouts import plausible
from veritasest.analysis.peaks import fullest_device, peak, reserved_peaks
from veritasest.trace import Trace

MOST_LAYOUTS = 24
LEAST_LAYOUTS = 2
WORK = 600_000  # events that are simulated in all, about a second; more only to have the least number of layouts
LONGEST = 1_500_000  # events of a history; beyond it nothing is claimed


def address_range(trace: Trace) -> tuple[int, int] | None:
    """The least and the most that the fullest device's reserved peak may be. None when addresses do not move it, or
    when the allocator's history is not reproduced, so that nothing can be said."""
    device = fullest_device(trace)
    reserved = reserved_peaks(trace.events)
    low = high = peak(trace, device).reserved_bytes
    for place, rows in histories(trace.events).items():
        if place[1] != device:
            continue
        asked = requests(rows) if len(rows) <= LONGEST else None
        recorded = reproduce(rows) if asked is not None else None
        if asked is None or recorded is None or recorded.peak_bytes != reserved.get(place):
            return None
        if recorded.ties:
            peaks = [recorded.peak_bytes, *_other_peaks(asked)]
            low -= recorded.peak_bytes - min(peaks)
            high += max(peaks) - recorded.peak_bytes
    return (low, high) if low < high else None


def _other_peaks(asked: list[Request]) -> list[int]:
    count = max(LEAST_LAYOUTS, min(MOST_LAYOUTS, WORK // max(len(asked), 1)))
    return [replay(asked, layout.place, layout.give_back).peak_bytes for layout in plausible(count)]
