"""One frozen record for every kind of line in a trace.

| kind        | written by   | when |
|-------------|--------------|------|
| header      | launcher     | first line |
| process     | agent        | PyTorch was imported |
| segment     | native       | device memory was taken or given back |
| refused     | native       | an allocation did not fit; PyTorch may flush its cache and try again |
| unmodelled  | native/agent | something the emulation refused or guessed, once per name |
| misuse      | native       | memory freed twice, or that was never allocated |
| blocks      | agent        | the caching allocator's history since the last such record |
| roles       | agent        | around an optimizer step: where parameters, gradients and optimizer state are |
| step        | agent        | after each optimizer step |
| oom         | agent        | PyTorch raised torch.OutOfMemoryError |
| exception   | agent        | an exception nobody caught |
| end         | agent        | the process is about to end |
| exit        | launcher     | last line |

All but the header carry `pid` and `t` (monotonic seconds).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Header:
    schema: int
    created: str
    command: tuple[str, ...]
    veritasest: str
    gpu: Mapping[str, Any]
    limit_bytes: int | None
    allocator_conf: str | None
    host: Mapping[str, Any]
    stop: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Event:
    pid: int
    t: float


@dataclass(frozen=True, kw_only=True)
class Process(Event):
    torch: str
    cuda: str | None = None
    cudnn: int | None = None
    python: str | None = None
    argv: tuple[str, ...] = ()
    rank: int | None = None


@dataclass(frozen=True, kw_only=True)
class Segment(Event):
    op: str
    device: int
    bytes: int
    address: int
    used_bytes: int


@dataclass(frozen=True, kw_only=True)
class Refused(Event):
    device: int
    bytes: int
    used_bytes: int
    limit_bytes: int


@dataclass(frozen=True, kw_only=True)
class Unmodelled(Event):
    """`file` and `line`: the user's code that led there first, where known."""

    library: str
    name: str
    how: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class Misuse(Event):
    what: str
    address: int = 0


@dataclass(frozen=True, kw_only=True)
class Blocks(Event):
    """`actions` has one letter per event: a alloc, r free_requested, c free_completed, s segment_alloc, f segment_free,
    o oom, m segment_map, u segment_unmap. `phase`: "optimizer" inside an optimizer step, else "forward_backward"."""

    device: int
    step: int
    actions: str
    addresses: tuple[int, ...]
    sizes: tuple[int, ...]
    phase: str | None = None


@dataclass(frozen=True, kw_only=True)
class Roles(Event):
    """Addresses of the tensors that have this role from now on. Written when they changed."""

    role: str
    addresses: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Step(Event):
    """Peaks are cumulative: since the process started."""

    step: int
    device: int = 0
    allocated_peak_bytes: int
    reserved_peak_bytes: int
    allocated_bytes: int = 0
    reserved_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class OutOfMemory(Event):
    device: int = 0
    bytes: int | None = None
    step: int = 0
    file: str | None = None
    line: int | None = None
    function: str | None = None
    code: str | None = None
    stack: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class JobException(Event):
    type: str
    message: str = ""
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class End(Event):
    reason: str
    device: int = 0
    allocated_peak_bytes: int = 0
    reserved_peak_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Exit(Event):
    code: int | None
    reason: str
    elapsed_s: float
    host_peak_bytes: int | None = None


KINDS: Mapping[str, type[Event]] = {
    "process": Process,
    "segment": Segment,
    "refused": Refused,
    "unmodelled": Unmodelled,
    "misuse": Misuse,
    "blocks": Blocks,
    "roles": Roles,
    "step": Step,
    "oom": OutOfMemory,
    "exception": JobException,
    "end": End,
    "exit": Exit,
}

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A whole trace, events in the order they were written. `unreadable_lines` counts what was torn or malformed."""

    header: Header
    events: tuple[Event, ...] = field(default=())
    unreadable_lines: int = 0

    def of(self, kind: type[E]) -> tuple[E, ...]:
        return tuple(event for event in self.events if isinstance(event, kind))
