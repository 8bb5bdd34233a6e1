"""Records of the job: written by the agent inside its processes, and by the launcher around it."""

from __future__ import annotations

from dataclasses import dataclass

from veritasest.spec.enums import EndReason, ExitReason, FileMode, Phase, Role, Stage
from veritasest.trace.base import Event, kind


@kind("process")
@dataclass(frozen=True, kw_only=True)
class Process(Event):
    torch: str
    cuda: str | None = None
    cudnn: int | None = None
    python: str | None = None
    rank: int | None = None


@kind("unmodelled")
@dataclass(frozen=True, kw_only=True)
class Unmodelled(Event):
    """`how`: "refused", "guessed", "bounded" (a size between two bounds), "bounded above" (its own lower bound) or "not
    computed". `file` and `line`: the user's code that led there first, where known."""

    library: str
    name: str
    how: str
    file: str | None = None
    line: int | None = None


@kind("assumed")
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


@kind("host_memory")
@dataclass(frozen=True, kw_only=True)
class HostMemory(Event):
    """`bytes` more did not fit under `limit_bytes`."""

    bytes: int
    limit_bytes: int


@kind("blocks")
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


@kind("roles")
@dataclass(frozen=True, kw_only=True)
class Roles(Event):
    """Addresses of the tensors that have this role from now on. Written when they changed."""

    role: Role
    addresses: tuple[int, ...]


@kind("step")
@dataclass(frozen=True, kw_only=True)
class Step(Event):
    """Peaks are cumulative: since the process started."""

    step: int
    device: int = 0
    allocated_peak_bytes: int
    reserved_peak_bytes: int


@kind("oom")
@dataclass(frozen=True, kw_only=True)
class OutOfMemory(Event):
    device: int = 0
    bytes: int | None = None
    step: int = 0
    file: str | None = None
    line: int | None = None
    code: str | None = None


@kind("exception")
@dataclass(frozen=True, kw_only=True)
class JobException(Event):
    type: str
    message: str = ""
    file: str | None = None
    line: int | None = None


@kind("own_error")
@dataclass(frozen=True, kw_only=True)
class OwnError(Event):
    """An error of VeritasEst, never the job's. `where`: the part of the agent it switched off. `file` and `line`: in
    VeritasEst's code, where known."""

    where: str
    type: str
    message: str = ""
    file: str | None = None
    line: int | None = None


@kind("batches")
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


@kind("stage")
@dataclass(frozen=True, kw_only=True)
class StageBegun(Event):
    """`budget_s`: for this and the following stages together."""

    stage: Stage
    step: int
    budget_s: float | None = None


@kind("observed")
@dataclass(frozen=True, kw_only=True)
class Observed(Event):
    """`by_hand`: no optimizer stepped, so backward passes count as steps."""

    steps: int
    by_hand: bool = False
    evaluation_batches: int = 0
    evaluations: int = 0
    checkpoints: int = 0
    captures: int = 0


@kind("not_reached")
@dataclass(frozen=True, kw_only=True)
class NotReached(Event):
    """`what`: the condition of a branch, or a statement, of the user's code that did not run."""

    what: str
    file: str
    line: int


@kind("end")
@dataclass(frozen=True, kw_only=True)
class End(Event):
    reason: EndReason
    device: int = 0
    allocated_peak_bytes: int = 0
    reserved_peak_bytes: int = 0


@kind("files")
@dataclass(frozen=True, kw_only=True)
class HeldBack(Event):
    """Nothing was held back in the modes "none" and "allowed"."""

    mode: FileMode
    written: int = 0
    deleted: int = 0
    bytes: int = 0
    folder: str | None = None
    examples: tuple[str, ...] = ()


@kind("exit")
@dataclass(frozen=True, kw_only=True)
class Exit(Event):
    code: int | None
    reason: ExitReason
    elapsed_s: float
    host_peak_bytes: int | None = None
