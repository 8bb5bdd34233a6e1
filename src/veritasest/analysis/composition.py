"""What the allocated peak is made of."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from veritasest.analysis.peaks import Place, allocated_peaks, rounded
from veritasest.spec.estimate import Part
from veritasest.trace import Blocks, Roles, Trace

PARAMETERS, GRADIENTS, STATE = "parameters", "gradients", "optimizer state"
_PHASES = {
    "forward_backward": "activations, inputs and workspaces",
    "optimizer": "temporaries of the optimizer step",
}
_UNROUNDED = "unused ends of blocks"


@dataclass(frozen=True, kw_only=True)
class _Moment:
    """The blocks live at the allocated peak: address -> (bytes, phase in which it was allocated)."""

    live: Mapping[int, tuple[int, str]]
    phase: str
    t: float


def composition(trace: Trace) -> tuple[Part, ...]:
    """The blocks live at the allocated peak of the fullest process, by what they hold.

    Parameters, gradients and optimizer state are known by address around each optimizer step; the rest is told apart by
    the phase in which it was allocated.
    """
    peaks = allocated_peaks(trace.events)
    if not peaks:
        return ()
    place = max(peaks, key=lambda key: peaks[key])
    moment = _peak_moment(trace, place)
    if moment is None:
        return ()
    parts = _by_role(moment, _roles_at(moment, [e for e in trace.of(Roles) if e.pid == place[0]]))
    rest = peaks[place] - sum(parts.values())
    if rest > 0:
        parts[_UNROUNDED] = rest
    return tuple(Part(label=label, bytes=size) for label, size in parts.most_common())


def _peak_moment(trace: Trace, place: Place) -> _Moment | None:
    live: dict[int, tuple[int, str]] = {}
    in_use = best = 0
    moment: _Moment | None = None
    climbing = False
    for record in trace.of(Blocks):
        if (record.pid, record.device) != place:
            continue
        phase = record.phase or "forward_backward"
        for action, address, size in zip(record.actions, record.addresses, record.sizes, strict=False):
            if action == "a":
                in_use += rounded(size) - (live.pop(address)[0] if address in live else 0)
                live[address] = (rounded(size), phase)
                if in_use > best:
                    best, climbing = in_use, True
            elif action == "r" and address in live:
                # Copying the books at every new maximum would be quadratic: only when a free ends the climb.
                if climbing and in_use == best:
                    moment, climbing = _Moment(live=dict(live), phase=phase, t=record.t), False
                in_use -= live.pop(address)[0]
        if climbing and in_use == best:
            moment, climbing = _Moment(live=dict(live), phase=phase, t=record.t), False
    return moment


def _roles_at(moment: _Moment, records: Sequence[Roles]) -> dict[str, tuple[int, ...]]:
    """The addresses of each role that were valid at the peak.

    Roles are recorded right after the phase that fills them: gradients after the backward pass, state after the
    optimizer step. So for a peak inside that phase the next record counts, else the last one.
    """
    last = {record.role: record.addresses for record in records if record.t < moment.t}
    following = {record.role: record.addresses for record in reversed(records) if record.t >= moment.t}
    filled_now = GRADIENTS if moment.phase == "forward_backward" else STATE
    chosen = dict(last)
    for role in (PARAMETERS, filled_now):
        if role in following and (role == filled_now or role not in last):
            chosen[role] = following[role]
    return chosen


def _by_role(moment: _Moment, roles: Mapping[str, tuple[int, ...]]) -> Counter[str]:
    bases = sorted(moment.live)
    label_of: dict[int, str] = {}
    for role in (GRADIENTS, STATE, PARAMETERS):  # the last one wins where a block serves several
        for address in roles.get(role, ()):
            index = bisect_right(bases, address) - 1
            if index >= 0 and address < bases[index] + moment.live[bases[index]][0]:
                label_of[bases[index]] = role
    parts: Counter[str] = Counter()
    for base, (size, phase) in moment.live.items():
        parts[label_of.get(base) or _PHASES.get(phase, phase)] += size
    return parts
