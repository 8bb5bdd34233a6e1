"""One frozen record for every kind of line in a trace.

| kind        | written by   | when |
|-------------|--------------|------|
| header      | launcher     | first line |
| process     | agent        | PyTorch was imported |
| segment     | native       | device memory was taken or given back |
| library     | native       | a library took device memory for itself, or gave it back |
| deferred_free | native     | the caching allocator waits for an event before it takes a block back, once per process |
| refused     | native       | an allocation did not fit; PyTorch may flush its cache and try again |
| unmodelled  | native/agent | something the emulation refused or guessed, once per name |
| assumed     | agent        | the program read a value that nobody computed, once per line and again at the end |
| host_memory | agent        | real values would take more of the host's memory than allowed; the job was ended |
| misuse      | native       | memory freed twice, or that was never allocated |
| blocks      | agent        | the caching allocator's history since the last such record |
| roles       | agent        | around an optimizer step: where parameters, gradients and optimizer state are |
| step        | agent        | after each optimizer step |
| oom         | agent        | PyTorch raised torch.OutOfMemoryError |
| exception   | agent        | an exception nobody caught |
| own_error   | agent        | an error of VeritasEst's own in the job's process; that part of the agent is now off |
| batches     | agent        | with the end, once per DataLoader: how its batches varied |
| stage       | agent        | the peak has settled, or a later stage of the default run begins |
| observed    | agent        | with the end: what of the job's life was seen |
| not_reached | agent        | with the end: code that would have run later |
| files       | launcher     | what the job wrote and deleted in the layer that kept the user's files as they were |
| end         | agent        | the process is about to end |
| process_exit| native       | a process that used the device ends by exit() or _exit() |
| killed      | native       | a process of the job sends a signal to one that uses the device |
| gone        | native/launcher | a process that used the device no longer exists |
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
class Library(Event):
    """`bytes` below zero: given back. `libraries_bytes`: what all of them hold there now, the CUDA context left out."""

    library: str
    device: int
    bytes: int
    libraries_bytes: int


@dataclass(frozen=True, kw_only=True)
class DeferredFree(Event):
    """Blocks were freed that another stream had used (`record_stream`): when they can be used again depends on how far
    the GPU has got by then."""

    device: int = 0


@dataclass(frozen=True, kw_only=True)
class Refused(Event):
    """`owner`: "job", or the library that asked."""

    device: int
    bytes: int
    used_bytes: int
    limit_bytes: int
    owner: str = "job"


@dataclass(frozen=True, kw_only=True)
class Unmodelled(Event):
    """`file` and `line`: the user's code that led there first, where known."""

    library: str
    name: str
    how: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class Assumed(Event):
    """`how`: "number" (`.item()`, `if tensor:`), "size" (a shape was counted from values) or "copy" (to the host).
    `operator` read it from a tensor of that `shape` and `dtype`. `value`: the number or count it was told."""

    how: str
    operator: str
    file: str | None = None
    line: int | None = None
    code: str | None = None
    shape: tuple[int, ...] = ()
    dtype: str = ""
    value: float | int | bool | None = None
    reads: int = 1


@dataclass(frozen=True, kw_only=True)
class HostMemory(Event):
    """`bytes` more did not fit under `limit_bytes`."""

    bytes: int
    limit_bytes: int


@dataclass(frozen=True, kw_only=True)
class Misuse(Event):
    what: str
    address: int = 0


@dataclass(frozen=True, kw_only=True)
class Blocks(Event):
    """`actions` has one letter per event: a alloc, r free_requested, c free_completed, s segment_alloc, f segment_free,
    o oom, m segment_map, u segment_unmap. `streams`: whose memory it is, empty when all is the default stream's (0).
    `phase`: "optimizer" inside an optimizer step, else "forward_backward"."""

    device: int
    step: int
    actions: str
    addresses: tuple[int, ...]
    sizes: tuple[int, ...]
    streams: tuple[int, ...] = ()
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
class OwnError(Event):
    """An error of ours, never the job's. `where`: the part of the agent it switched off. `file` and `line`: of our own
    code, where known."""

    where: str
    type: str
    message: str = ""
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class Batches(Event):
    """`signatures`: how many different shapes were handed out. `skipped`: batches looked at or left out, but not run.
    `varied`: shapes differed, other than in the smaller last batch of an epoch. `largest_seen`: of a whole epoch."""

    loader: int
    handed_out: int
    signatures: int
    skipped: int = 0
    largest_elements: int = 0
    largest_seen: bool = True
    epoch_batches: int | None = None
    varied: bool = False
    still_changing: bool = False


@dataclass(frozen=True, kw_only=True)
class StageBegun(Event):
    """`stage`: "as it is", "forward" or "leaving". `budget_s`: for all of them together."""

    stage: str
    step: int
    budget_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Observed(Event):
    """`by_hand`: no optimizer stepped, so backward passes count as steps."""

    steps: int
    by_hand: bool = False
    evaluation_batches: int = 0
    evaluations: int = 0
    checkpoints: int = 0
    captures: int = 0


@dataclass(frozen=True, kw_only=True)
class NotReached(Event):
    """`what`: the condition of a branch, or a statement, of the user's code that did not run."""

    what: str
    file: str
    line: int


@dataclass(frozen=True, kw_only=True)
class End(Event):
    reason: str
    device: int = 0
    allocated_peak_bytes: int = 0
    reserved_peak_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class ProcessExit(Event):
    code: int


@dataclass(frozen=True, kw_only=True)
class Killed(Event):
    process: int
    signal: int


@dataclass(frozen=True, kw_only=True)
class Gone(Event):
    """`process`: its id; that of `pid` itself where a program replaced itself by exec(). `by_us`: the launcher did."""

    process: int
    by_us: bool = False


@dataclass(frozen=True, kw_only=True)
class HeldBack(Event):
    """`mode`: "overlay", "interposer", "none" or "allowed"; nothing was held back in the last two."""

    mode: str
    written: int = 0
    deleted: int = 0
    bytes: int = 0
    folder: str | None = None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Exit(Event):
    code: int | None
    reason: str
    elapsed_s: float
    host_peak_bytes: int | None = None


KINDS: Mapping[str, type[Event]] = {
    "process": Process,
    "segment": Segment,
    "library": Library,
    "deferred_free": DeferredFree,
    "refused": Refused,
    "unmodelled": Unmodelled,
    "assumed": Assumed,
    "host_memory": HostMemory,
    "misuse": Misuse,
    "blocks": Blocks,
    "roles": Roles,
    "step": Step,
    "oom": OutOfMemory,
    "exception": JobException,
    "own_error": OwnError,
    "batches": Batches,
    "stage": StageBegun,
    "observed": Observed,
    "not_reached": NotReached,
    "files": HeldBack,
    "end": End,
    "process_exit": ProcessExit,
    "killed": Killed,
    "gone": Gone,
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
