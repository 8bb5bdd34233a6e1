"""One frozen record for every kind of line in a trace: its fields are defined here only.

| kind          | written by   | when |
|---------------|--------------|------|
| header        | launcher     | first line |
| process       | agent        | the process initialised CUDA in PyTorch |
| segment       | native       | device memory was allocated or freed |
| library       | native       | a library's own device memory changed |
| workspace     | native       | a library was given a workspace that it keeps, once per address |
| deferred_free | native       | the caching allocator waits for an event before it reuses a block, once per process |
| refused       | native       | an allocation did not fit; PyTorch may flush its cache and retry |
| unmodelled    | native/agent | the emulation refused something, or guessed a size; once per name |
| assumed       | agent        | the program read a value that was not computed; once per line, and again at the end |
| host_memory   | agent        | real values would exceed the limit on host memory; the job was ended |
| misuse        | native       | memory was freed twice, or was never allocated |
| blocks        | agent        | the caching allocator's history since the last such record |
| roles         | agent        | around an optimizer step: addresses of parameters, gradients and optimizer state |
| step          | agent        | after each optimizer step |
| oom           | agent        | PyTorch raised torch.OutOfMemoryError |
| exception     | agent        | an uncaught exception |
| own_error     | agent/native | an error of VeritasEst in the job's process; that part of the agent is now off |
| batches       | agent        | with the end, once per DataLoader: how its batches varied |
| stage         | agent        | the peak has settled, or a later stage of the default run begins |
| observed      | agent        | with the end: which phases of the job were observed |
| not_reached   | agent        | with the end: code that would have run later |
| files         | launcher     | what the job wrote and deleted in its private file layer |
| end           | agent        | the process is about to end |
| process_exit  | native       | a process that used the device ends by exit() or _exit() |
| killed        | native       | a process of the job sends a signal to one that uses the device |
| gone          | native/launcher | a process that used the device no longer exists |
| exit          | launcher     | last line |

All but the header carry `pid` and `t` (monotonic seconds), which the writer adds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from veritasest.spec.enums import EndReason, ExitReason, FileMode, Phase, Role, Stage
from veritasest.spec.run import RunSpec

SCHEMA = 2

E = TypeVar("E", bound="Event")
KINDS: dict[str, type[Event]] = {}


def _kind(name: str) -> Callable[[type[E]], type[E]]:
    """Names the lines that hold this record."""

    def register(record: type[E]) -> type[E]:
        record.kind = name
        KINDS[name] = record
        return record

    return register


@dataclass(frozen=True, kw_only=True)
class Header:
    schema: int
    created: str
    command: tuple[str, ...]
    veritasest: str
    run: RunSpec
    allocator_conf: str | None
    host: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Event:
    """`pid` and `t` are set by the writer: a record that was not written yet has none."""

    kind: ClassVar[str]

    pid: int = 0
    t: float = 0.0


@_kind("process")
@dataclass(frozen=True, kw_only=True)
class Process(Event):
    torch: str
    cuda: str | None = None
    cudnn: int | None = None
    python: str | None = None
    rank: int | None = None


@_kind("segment")
@dataclass(frozen=True, kw_only=True)
class Segment(Event):
    op: str
    device: int
    bytes: int
    address: int
    used_bytes: int


@_kind("library")
@dataclass(frozen=True, kw_only=True)
class Library(Event):
    """`bytes` below zero: freed. `libraries_bytes`: what all libraries hold there now, without the CUDA context."""

    library: str
    device: int
    bytes: int
    libraries_bytes: int


@_kind("workspace")
@dataclass(frozen=True, kw_only=True)
class Workspace(Event):
    """PyTorch allocates it like a tensor (cublasSetWorkspace)."""

    library: str
    address: int
    bytes: int


@_kind("deferred_free")
@dataclass(frozen=True, kw_only=True)
class DeferredFree(Event):
    """Blocks were freed that another stream had used (`record_stream`): when they can be reused depends on the GPU's
    progress."""

    device: int = 0


@_kind("refused")
@dataclass(frozen=True, kw_only=True)
class Refused(Event):
    """`owner`: "job", or the library that asked."""

    device: int
    bytes: int
    used_bytes: int
    limit_bytes: int
    owner: str = "job"


@_kind("unmodelled")
@dataclass(frozen=True, kw_only=True)
class Unmodelled(Event):
    """`how`: "refused", "guessed", "bounded" (a size between two bounds), "bounded above" (its own lower bound) or "not
    computed". `file` and `line`: the user's code that led there first, where known."""

    library: str
    name: str
    how: str
    file: str | None = None
    line: int | None = None


@_kind("assumed")
@dataclass(frozen=True, kw_only=True)
class Assumed(Event):
    """`how`: "number" (`.item()`, `if tensor:`), "size" (a shape was counted from values) or "copy" (to the host).
    `operator` read it from a tensor of that `shape` and `dtype`. `value`: the number or count it was given."""

    how: str
    operator: str
    file: str | None = None
    line: int | None = None
    code: str | None = None
    shape: tuple[int, ...] = ()
    dtype: str = ""
    value: float | int | bool | None = None
    reads: int = 1


@_kind("host_memory")
@dataclass(frozen=True, kw_only=True)
class HostMemory(Event):
    """`bytes` more did not fit under `limit_bytes`."""

    bytes: int
    limit_bytes: int


@_kind("misuse")
@dataclass(frozen=True, kw_only=True)
class Misuse(Event):
    what: str
    address: int = 0


@_kind("blocks")
@dataclass(frozen=True, kw_only=True)
class Blocks(Event):
    """`actions` has one letter per event (`AllocatorAction`). `streams`: the stream of each block, empty when all are
    the default stream (0)."""

    device: int
    step: int
    actions: str
    addresses: tuple[int, ...]
    sizes: tuple[int, ...]
    streams: tuple[int, ...] = ()
    phase: Phase | None = None


@_kind("roles")
@dataclass(frozen=True, kw_only=True)
class Roles(Event):
    """Addresses of the tensors that have this role from now on. Written when they changed."""

    role: Role
    addresses: tuple[int, ...]


@_kind("step")
@dataclass(frozen=True, kw_only=True)
class Step(Event):
    """Peaks are cumulative: since the process started."""

    step: int
    device: int = 0
    allocated_peak_bytes: int
    reserved_peak_bytes: int


@_kind("oom")
@dataclass(frozen=True, kw_only=True)
class OutOfMemory(Event):
    device: int = 0
    bytes: int | None = None
    step: int = 0
    file: str | None = None
    line: int | None = None
    code: str | None = None


@_kind("exception")
@dataclass(frozen=True, kw_only=True)
class JobException(Event):
    type: str
    message: str = ""
    file: str | None = None
    line: int | None = None


@_kind("own_error")
@dataclass(frozen=True, kw_only=True)
class OwnError(Event):
    """An error of VeritasEst, never the job's. `where`: the part of the agent it switched off. `file` and `line`: in
    VeritasEst's code, where known."""

    where: str
    type: str
    message: str = ""
    file: str | None = None
    line: int | None = None


@_kind("batches")
@dataclass(frozen=True, kw_only=True)
class Batches(Event):
    """`signatures`: how many different shapes were returned. `skipped`: batches inspected or skipped, but not run.
    `varied`: shapes differed, other than in the smaller last batch of an epoch."""

    loader: int
    handed_out: int
    signatures: int
    skipped: int = 0
    epoch_batches: int | None = None
    varied: bool = False
    still_changing: bool = False


@_kind("stage")
@dataclass(frozen=True, kw_only=True)
class StageBegun(Event):
    """`budget_s`: for this and the following stages together."""

    stage: Stage
    step: int
    budget_s: float | None = None


@_kind("observed")
@dataclass(frozen=True, kw_only=True)
class Observed(Event):
    """`by_hand`: no optimizer stepped, so backward passes count as steps."""

    steps: int
    by_hand: bool = False
    evaluation_batches: int = 0
    evaluations: int = 0
    checkpoints: int = 0
    captures: int = 0


@_kind("not_reached")
@dataclass(frozen=True, kw_only=True)
class NotReached(Event):
    """`what`: the condition of a branch, or a statement, of the user's code that did not run."""

    what: str
    file: str
    line: int


@_kind("end")
@dataclass(frozen=True, kw_only=True)
class End(Event):
    reason: EndReason
    device: int = 0
    allocated_peak_bytes: int = 0
    reserved_peak_bytes: int = 0


@_kind("process_exit")
@dataclass(frozen=True, kw_only=True)
class ProcessExit(Event):
    code: int


@_kind("killed")
@dataclass(frozen=True, kw_only=True)
class Killed(Event):
    process: int
    signal: int


@_kind("gone")
@dataclass(frozen=True, kw_only=True)
class Gone(Event):
    """`process`: its id; `pid` itself where a program replaced itself by exec(). `by_us`: the launcher ended it."""

    process: int
    by_us: bool = False


@_kind("files")
@dataclass(frozen=True, kw_only=True)
class HeldBack(Event):
    """Nothing was held back in the modes "none" and "allowed"."""

    mode: FileMode
    written: int = 0
    deleted: int = 0
    bytes: int = 0
    folder: str | None = None
    examples: tuple[str, ...] = ()


@_kind("exit")
@dataclass(frozen=True, kw_only=True)
class Exit(Event):
    code: int | None
    reason: ExitReason
    elapsed_s: float
    host_peak_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A whole trace, events in the order they were written. `unreadable_lines` counts torn or malformed lines."""

    header: Header
    events: tuple[Event, ...] = field(default=())
    unreadable_lines: int = 0

    def of(self, kind: type[E]) -> tuple[E, ...]:
        return tuple(event for event in self.events if isinstance(event, kind))
