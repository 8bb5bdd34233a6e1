"""What the peak of allocated memory consists of."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from veritasest.analysis.peaks import allocated_peaks
from veritasest.analysis.replay import Place, local_peaks
from veritasest.spec.enums import Phase, Role
from veritasest.spec.estimate import Share
from veritasest.trace import Roles, Trace, Workspace

_PHASES = {
    Phase.FORWARD_BACKWARD: "activations, inputs and temporary buffers",
    Phase.OPTIMIZER: "temporary buffers of the optimizer step",
}
_WORKSPACES = "library workspaces (cuBLAS)"
_ROUNDING = "block rounding"


@dataclass(frozen=True, kw_only=True)
class _Moment:
    """The blocks live at the allocated peak: address -> (bytes, phase in which it was allocated)."""

    live: Mapping[int, tuple[int, Phase]]
    phase: Phase
    t: float


def breakdown(trace: Trace, device: int) -> tuple[Share, ...]:
    """The blocks live at the allocated peak of the fullest process on `device`, by what they hold.

    Parameters, gradients and optimizer state are known by address around each optimizer step, cuBLAS workspaces from
    the library call that sets them; the rest is distinguished by the phase in which it was allocated.
    """
    peaks = {place: size for place, size in allocated_peaks(trace.events).items() if place[1] == device}
    if not peaks:
        return ()
    place = max(peaks, key=lambda key: peaks[key])
    moment = _peak_moment(trace, place)
    if moment is None:
        return ()
    shares = _by_role(moment, _labels(trace, moment, place[0]))
    rest = peaks[place] - sum(shares.values())
    if rest > 0:
        shares[_ROUNDING] = rest
    return tuple(Share(label=label, bytes=size) for label, size in shares.most_common())


def _peak_moment(trace: Trace, place: Place) -> _Moment | None:
    best, moment = 0, None
    for where, record, live in local_peaks(trace.events):
        if where == place and live.in_use_bytes > best:
            best = live.in_use_bytes
            moment = _Moment(live=dict(live.blocks), phase=record.phase or Phase.FORWARD_BACKWARD, t=record.t)
    return moment


def _labels(trace: Trace, moment: _Moment, process: int) -> dict[str, tuple[int, ...]]:
    """Addresses by what they hold, the last one wins where a block serves several."""
    roles = _roles_at(moment, [event for event in trace.of(Roles) if event.pid == process])
    workspaces = tuple(event.address for event in trace.of(Workspace) if event.pid == process and event.t <= moment.t)
    ordered = (Role.GRADIENTS, Role.OPTIMIZER_STATE, Role.PARAMETERS)
    return {_WORKSPACES: workspaces, **{role.value: roles[role] for role in ordered if role in roles}}


def _roles_at(moment: _Moment, records: Sequence[Roles]) -> dict[Role, tuple[int, ...]]:
    """The addresses of each role that were valid at the peak.

    Roles are recorded right after the phase that fills them: gradients after the backward pass, state after the
    optimizer step. So for a peak inside that phase the next record counts, otherwise the last one.
    """
    last = {record.role: record.addresses for record in records if record.t < moment.t}
    following = {record.role: record.addresses for record in reversed(records) if record.t >= moment.t}
    filled_now = Role.GRADIENTS if moment.phase is Phase.FORWARD_BACKWARD else Role.OPTIMIZER_STATE
    chosen = dict(last)
    for role in (Role.PARAMETERS, filled_now):
        if role in following and (role is filled_now or role not in last):
            chosen[role] = following[role]
    return chosen


def _by_role(moment: _Moment, labels: Mapping[str, tuple[int, ...]]) -> Counter[str]:
    bases = sorted(moment.live)
    label_of: dict[int, str] = {}
    for label, addresses in labels.items():
        for address in addresses:
            index = bisect_right(bases, address) - 1
            if index >= 0 and address < bases[index] + moment.live[bases[index]][0]:
                label_of[bases[index]] = label
    shares: Counter[str] = Counter()
    for base, (size, phase) in moment.live.items():
        shares[label_of.get(base) or _PHASES[phase]] += size
    return shares
