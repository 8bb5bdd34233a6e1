"""The estimate: what `veritasest.estimate()` returns and `--json` writes, field by field the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

SCHEMA_VERSION = 1

Verdict = Literal["fits", "does_not_fit", "job_failed", "unsupported", "undetermined"]


@dataclass(frozen=True, kw_only=True)
class GpuFacts:
    """`libraries_bytes`: what libraries took for themselves in this job, beside the CUDA context. `available_bytes`:
    the capacity less both, what PyTorch's allocations may add up to. `processes`: how many shared the device when it
    was fullest; each has a context of `context_bytes`."""

    id: str
    name: str
    capacity_bytes: int
    context_bytes: int
    libraries_bytes: int
    available_bytes: int
    processes: int = 1


@dataclass(frozen=True, kw_only=True)
class Peak:
    """Of the run at the GPU's capacity; of the run without limit when the job does not fit.

    `step` counts the optimizer steps finished before the reserved peak was reached; 0: during the first or before it.
    `allocated_bytes`: None where it is not known. Of an undetermined estimate both are what was seen, a lower bound.
    """

    allocated_bytes: int | None
    reserved_bytes: int
    step: int
    device: int


@dataclass(frozen=True, kw_only=True)
class Needs:
    """`comfortable_bytes`: peak reserved when nothing presses. `minimum_bytes`: the smallest capacity at which the job
    still completed, None unless asked for. Neither includes the CUDA context and what libraries take for themselves;
    `process_bytes` is the first with both, as nvidia-smi would show it.

    The ranges are what the two become when every size that is a guess takes its lower or its upper bound; None when the
    estimate leans on no such guess. `assumed_range_bytes`: what the first becomes when every choice that the program
    made by assumed values takes nothing, or everything; None when it made none.

    The last two are what repeats of the job on the same GPU may reserve. `timing_range_bytes`: when blocks that other
    streams used come back at once, or as late as they can. `address_range_bytes`: by where the driver puts memory. None
    when the job does not move, or (addresses only) nothing can be said.
    """

    comfortable_bytes: int | None
    minimum_bytes: int | None
    process_bytes: int | None = None
    comfortable_range_bytes: tuple[int, int] | None = None
    minimum_range_bytes: tuple[int, int] | None = None
    assumed_range_bytes: tuple[int, int] | None = None
    timing_range_bytes: tuple[int, int] | None = None
    address_range_bytes: tuple[int, int] | None = None

    @property
    def repeats_range_bytes(self) -> tuple[int, int] | None:
        """Both together: each moves the need by as much as it does alone."""
        point = self.comfortable_bytes
        moved = [ends for ends in (self.timing_range_bytes, self.address_range_bytes) if ends]
        if point is None or not moved:
            return None
        return point + sum(low - point for low, _ in moved), point + sum(high - point for _, high in moved)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why the job did not complete. `kind`: "oom", "exception", "exit", "signal", "timeout", "environment"
    or "host_memory" (real values took more of the host than allowed)."""

    kind: str
    message: str
    requested_bytes: int | None = None
    step: int | None = None
    file: str | None = None
    line: int | None = None
    code: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, kw_only=True)
class Undetermined:
    """Why there is no verdict, and what to do next. `reason`:

    "no_gpu" (no process took device memory), "timeout" (before the peak settled), "no_ranks" (the launcher started
    none in time), "workers_died" (while the job went on), "agent_absent" (memory was taken by a process that was not
    observed), "trace_gap" (records are missing), "own_error" or "invariant" (faults of VeritasEst).
    """

    reason: str
    message: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class NotModelled:
    """A library function the emulation refused, or whose answer it guessed, and the line that first led to it."""

    library: str
    name: str
    how: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, kw_only=True)
class AssumedValue:
    """A line of the user's code that read values nobody computed. `how`: "size" (a shape was counted from them),
    "number" (`.item()`, `if tensor:`) or "copy" (to the host); `value`: what it was told first, or the count."""

    how: str
    file: str | None
    line: int | None
    code: str | None
    value: float | int | bool | None
    reads: int


@dataclass(frozen=True, kw_only=True)
class Observed:
    """What of the job's life was seen. `evaluations`: calls of `Module.eval()`. `evaluation_batches`: batches of
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
class Part:
    """A share of the allocated peak, by what its blocks hold."""

    label: str
    bytes: int


@dataclass(frozen=True, kw_only=True)
class FileChanges:
    """What the job did to files in the first run. `mode`: "overlay" or "interposer" (held back in a private layer and
    discarded), "none" (no layer could be made: written for real) or "allowed" (`allow_writes`). The counts are of the
    layer. `folder`: where most bytes went; `examples`: up to five paths."""

    mode: str
    written: int = 0
    deleted: int = 0
    bytes: int = 0
    folder: str | None = None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Run:
    """One launch of the job. `host_peak_bytes` is the largest resident size among its processes so far."""

    limit_bytes: int | None
    verdict: Verdict
    steps: int
    elapsed_s: float
    host_peak_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class Provenance:
    command: tuple[str, ...]
    torch: str | None
    cuda: str | None
    cudnn: int | None
    python: str | None
    veritasest: str
    allocator_conf: str | None
    host: Mapping[str, Any]
    created: str


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """`settled`: the peak had stopped growing, or the job was seen to its end. `elapsed_s`: all runs together."""

    schema_version: int = SCHEMA_VERSION
    verdict: Verdict
    gpu: GpuFacts
    peak: Peak
    needs: Needs
    steps: int
    settled: bool
    elapsed_s: float
    observed: Observed
    not_reached: tuple[Missed, ...]
    failure: Failure | None
    undetermined: Undetermined | None
    not_modelled: tuple[NotModelled, ...]
    assumed: tuple[AssumedValue, ...]
    warnings: tuple[str, ...]
    composition: tuple[Part, ...]
    provenance: Provenance
    runs: tuple[Run, ...]
    trace_path: str | None
    files: FileChanges | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
