"""The estimate: what `veritasest.estimate()` returns and `--json` writes, field by field the same (docs/json.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from veritasest.spec.codec import to_plain
from veritasest.spec.enums import FileMode, Purpose, Verdict

if TYPE_CHECKING:
    from veritasest.spec.gpu import GPU

SCHEMA_VERSION = 2

Range = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class GpuFacts:
    """The target GPU. `capacity_bytes`: what the CUDA driver calls total memory. `context_bytes`: taken by the CUDA
    context of each process."""

    id: str
    name: str
    capacity_bytes: int
    context_bytes: int

    @classmethod
    def of(cls, gpu: GPU) -> GpuFacts:
        return cls(id=gpu.id, name=gpu.name, capacity_bytes=gpu.total_bytes, context_bytes=gpu.context_bytes)


@dataclass(frozen=True, kw_only=True)
class Peak:
    """Of the run at the GPU's capacity; of the unlimited run if the job does not fit.

    `step` counts the optimizer steps finished before the reserved peak was reached; 0: during the first or before it.
    `allocated_bytes`: None if unknown. In an undetermined estimate both are what was observed, a lower bound.
    """

    allocated_bytes: int | None
    reserved_bytes: int
    step: int


@dataclass(frozen=True, kw_only=True)
class Needs:
    """`unconstrained_bytes`: peak reserved memory without memory pressure. `minimum_bytes`: the smallest capacity at
    which the job still completed, None unless asked for. `process_bytes`: unconstrained, with CUDA context and library
    overhead, as nvidia-smi would show it; the other two include neither.

    Ranges are None where nothing moves the figure. `guessed_range_bytes` and `guessed_minimum_range_bytes`: with every
    guessed size at its lower or upper bound. `assumed_range_bytes`: with every choice that depends on assumed values
    selecting nothing, or everything. `timing_range_bytes` and `address_range_bytes`: what repeated runs on the same GPU
    may reserve, depending on kernel timing (blocks used by several streams), and on the addresses the driver returns.
    """

    unconstrained_bytes: int | None = None
    process_bytes: int | None = None
    minimum_bytes: int | None = None
    guessed_range_bytes: Range | None = None
    guessed_minimum_range_bytes: Range | None = None
    assumed_range_bytes: Range | None = None
    timing_range_bytes: Range | None = None
    address_range_bytes: Range | None = None

    @property
    def repeats_range_bytes(self) -> Range | None:
        """Timing and addresses together: each moves the figure by as much as it does alone."""
        point = self.unconstrained_bytes
        moved = [ends for ends in (self.timing_range_bytes, self.address_range_bytes) if ends]
        if point is None or not moved:
            return None
        return point + sum(low - point for low, _ in moved), point + sum(high - point for _, high in moved)


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share of the peak of allocated memory, by what its blocks hold."""

    label: str
    bytes: int


@dataclass(frozen=True, kw_only=True)
class RankEstimate:
    """One GPU of the job. `rank`: of the process on it (the lowest, if several share it); None outside
    torch.distributed. `processes`: how many shared the GPU when it was fullest. `available_bytes`: the capacity less
    contexts and library overhead, what PyTorch's allocations may add up to."""

    rank: int | None = None
    device: int = 0
    processes: int = 1
    available_bytes: int
    library_overhead_bytes: int
    peak: Peak
    needs: Needs
    breakdown: tuple[Share, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why the job did not complete. `kind`: "oom", "exception", "exit", "signal", "environment" (nothing was run) or
    "host_memory" (real values exceeded the limit on host memory)."""

    kind: str
    message: str
    hint: str | None = None
    requested_bytes: int | None = None
    step: int | None = None
    file: str | None = None
    line: int | None = None
    code: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, kw_only=True)
class Undetermined:
    """Why there is no verdict, and what to do next. `reason`:

    "no_gpu" (no process used device memory), "timeout" (before the peak settled), "interrupted", "no_ranks" (the
    launcher started none in time), "workers_died" (while the job continued), "agent_absent" (a process that was not
    observed used device memory), "trace_gap" (records are missing), "own_error" or "invariant" (faults of VeritasEst).
    """

    reason: str
    message: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class NotModelled:
    """A library function that the emulation refused, or whose answer it guessed, and the line that first led to it."""

    library: str
    name: str
    how: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class AssumedValue:
    """A line of the user's code that read values which were not computed. `how`: "size" (a shape was counted from
    them), "number" (`.item()`, `if tensor:`) or "copy" (to the host). `value`: what it was given first, or the count.
    `matters`: whether memory can depend on it."""

    how: str
    file: str | None
    line: int | None
    code: str | None
    value: float | int | bool | None
    reads: int
    matters: bool = True


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Which phases of the job were observed. `evaluations`: calls of `Module.eval()`. `evaluation_batches`: batches of
    DataLoaders that led to no backward pass. `updates_by_hand`: no optimizer stepped, so backward passes were counted.
    `fast_forwarded`: repeated parts were skipped. `to_the_end`: the script ended by itself."""

    training_steps: int = 0
    evaluation_batches: int = 0
    evaluations: int = 0
    checkpoints: int = 0
    captures: int = 0
    updates_by_hand: bool = False
    fast_forwarded: bool = False
    to_the_end: bool = False


@dataclass(frozen=True, kw_only=True)
class Missed:
    """Code of the job that would have run later: the condition of a branch, or a statement."""

    what: str
    file: str
    line: int


@dataclass(frozen=True, kw_only=True)
class FileChanges:
    """What the job did to files in the first run. In the modes "overlay" and "interposer" it was held back in a private
    layer and discarded, which the counts are of. `folder`: where most bytes went; `examples`: up to five paths."""

    mode: FileMode
    written: int = 0
    deleted: int = 0
    bytes: int = 0
    folder: str | None = None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Run:
    """One launch of the job. `host_peak_bytes` is the largest resident size among its processes so far."""

    purpose: Purpose
    limit_bytes: int | None
    verdict: Verdict
    steps: int
    elapsed_s: float
    host_peak_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """`options`: those of `veritasest run` that ask for the same estimate again."""

    command: tuple[str, ...]
    options: tuple[str, ...] = ()
    engine: str = "emulated"
    torch: str | None = None
    cuda: str | None = None
    cudnn: int | None = None
    python: str | None = None
    veritasest: str
    allocator_conf: str | None = None
    host: Mapping[str, Any] = field(default_factory=dict)
    created: str


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """`ranks`: one entry per GPU that the job used, the worst first; empty if nothing was run. `settled`: the peak had
    stopped growing, or the job was observed to its end. `elapsed_s`: all runs together. `recording`: the folder that it
    was made from, if that was kept; not part of the JSON, since a recording can be moved."""

    schema_version: int = SCHEMA_VERSION
    verdict: Verdict
    gpu: GpuFacts
    ranks: tuple[RankEstimate, ...] = ()
    steps: int = 0
    settled: bool = False
    elapsed_s: float = 0.0
    observed: Observed = field(default_factory=Observed)
    not_reached: tuple[Missed, ...] = ()
    failure: Failure | None = None
    undetermined: Undetermined | None = None
    not_modelled: tuple[NotModelled, ...] = ()
    assumed: tuple[AssumedValue, ...] = ()
    warnings: tuple[str, ...] = ()
    files: FileChanges | None = None
    provenance: Provenance
    runs: tuple[Run, ...] = ()
    recording: str | None = field(default=None, compare=False)

    @property
    def worst(self) -> RankEstimate:
        """The rank that decides; one without memory if nothing was run."""
        if self.ranks:
            return self.ranks[0]
        nothing = Peak(allocated_bytes=None, reserved_bytes=0, step=0)
        available = self.gpu.capacity_bytes - self.gpu.context_bytes
        return RankEstimate(available_bytes=available, library_overhead_bytes=0, peak=nothing, needs=Needs())

    @property
    def peak(self) -> Peak:
        """Of the worst rank."""
        return self.worst.peak

    @property
    def needs(self) -> Needs:
        """Of the worst rank."""
        return self.worst.needs

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = to_plain(self)
        del plain["recording"]
        return plain
