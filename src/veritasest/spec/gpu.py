"""What the emulated device has to know about a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from veritasest.errors import UsageError
from veritasest.units import format_bytes, with_article

GIVEN_BY_USER = "given by the user"


@dataclass(frozen=True, kw_only=True)
class GPU:
    """One row of the catalogue (gpus.jsonl), with what follows from its compute capability (architectures.json).

    `total_bytes` is what the CUDA runtime calls total memory (less than the data sheet's): with current drivers, where
    reports differ. `total_bytes_range` is the least and the most that was reported on Linux, whatever the driver: those
    from 570 on keep up to 180 MiB more. `context_bytes` is what is gone before the first allocation. `evidence` says
    for each number that matters where it comes from: "measured", "public report" or "assumed" (recalled or scaled,
    never looked up); `source` says it in words.
    """

    id: str
    name: str
    aliases: tuple[str, ...]
    compute_capability: str
    sm_count: int
    total_bytes: int
    total_bytes_range: tuple[int, int] | None
    context_bytes: int
    bus_bits: int
    clock_khz: int
    memory_clock_khz: int
    l2_bytes: int
    shared_sm_bytes: int
    shared_optin_bytes: int
    regs_sm: int
    threads_sm: int
    blocks_sm: int
    evidence: Mapping[str, str]
    source: str

    @property
    def cc(self) -> int:
        """Compute capability as one number: 90 for 9.0, 120 for 12.0."""
        major, minor = self.compute_capability.split(".")
        return int(major) * 10 + int(minor)

    @property
    def available_bytes(self) -> int:
        """What is left when the CUDA context is there: for the job's allocations, and for libraries."""
        return self.total_bytes - self.context_bytes

    def with_memory(self, total_bytes: int) -> GPU:
        """The same GPU with another capacity (`--memory`)."""
        if total_bytes <= self.context_bytes:
            raise UsageError(
                f"{format_bytes(total_bytes)} leaves nothing for the job: "
                f"the CUDA context of {with_article(self.name)} takes {format_bytes(self.context_bytes)}",
                "give --memory a larger value",
            )
        evidence = {**self.evidence, "total_bytes": GIVEN_BY_USER}
        return replace(self, total_bytes=total_bytes, total_bytes_range=None, evidence=evidence)
