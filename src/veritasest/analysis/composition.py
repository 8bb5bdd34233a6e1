"""What the allocated peak is made of."""

from __future__ import annotations

from collections import Counter

from veritasest.analysis.peaks import Place, allocated_peaks, rounded
from veritasest.result import Part
from veritasest.trace import Blocks, Trace

_PHASES = {
    "setup": "before the first step (model, data)",
    "forward_backward": "forward and backward",
    "optimizer": "optimizer step (its state)",
}
_REST = "block rounding and memory from before recording"


def composition(trace: Trace) -> tuple[Part, ...]:
    """The blocks live at the allocated peak of the fullest process, by the phase in which they were allocated.

    Known limitation: where the history does not name phases, only what was kept from earlier steps and what the step of
    the peak itself added can be told apart.
    """
    peaks = allocated_peaks(trace.events)
    if not peaks:
        return ()
    place = max(peaks, key=lambda key: peaks[key])
    parts = _live_at_peak(trace, place)
    if not parts:
        return ()
    rest = peaks[place] - sum(parts.values())
    if rest > 0:
        parts[_REST] = rest
    return tuple(Part(label=label, bytes=size) for label, size in parts.most_common())


def _live_at_peak(trace: Trace, place: Place) -> Counter[str]:
    live: dict[int, tuple[int, str | None, int]] = {}
    in_use = best = 0
    at_peak: list[tuple[int, str | None, int]] = []
    grown = False
    for record in trace.of(Blocks):
        if (record.pid, record.device) != place:
            continue
        for action, address, size in zip(record.actions, record.addresses, record.sizes, strict=False):
            if action == "a":
                in_use += rounded(size) - (live.pop(address)[0] if address in live else 0)
                live[address] = (rounded(size), record.phase, record.step)
                if in_use > best:
                    best, grown = in_use, True
            elif action == "r" and address in live:
                # Copying the books at every new maximum would be quadratic: only when the next free ends a climb.
                if grown and in_use == best:
                    at_peak, grown = list(live.values()), False
                in_use -= live.pop(address)[0]
    if grown and in_use == best:
        at_peak = list(live.values())
    return _labelled(at_peak)


def _labelled(blocks: list[tuple[int, str | None, int]]) -> Counter[str]:
    last = max((step for _, _, step in blocks), default=0)
    parts: Counter[str] = Counter()
    for size, phase, step in blocks:
        if phase is not None:
            label = _PHASES.get(phase, phase)
        elif step < last:
            label = "kept from earlier steps (model, optimizer state, data)"
        else:
            label = "allocated in the step of the peak"
        parts[label] += size
    return parts
