"""Which PyTorch builds are supported: one row per version."""

from __future__ import annotations

from dataclasses import dataclass

CUDA_MAJORS = (12, 13)
OLDEST_PYTHON = (3, 10)


@dataclass(frozen=True, kw_only=True)
class TorchVersion:
    """`architectures`: the compute capabilities that the official build has machine code for
    (torch.cuda.get_arch_list()). `evidence`: what the version was tested with."""

    torch: str
    cuda: str
    architectures: tuple[int, ...]
    evidence: str


TESTED = (
    TorchVersion(
        torch="2.11",
        cuda="13.0",
        architectures=(75, 80, 86, 90, 100, 120),
        evidence="2.11.0+cu130, the build of the recorded H200 jobs",
    ),
)

# Of versions that were not tested: assumed to be as for others with the same CUDA.
_ASSUMED_ARCHITECTURES = {12: (70, 75, 80, 86, 90, 100, 120), 13: (75, 80, 86, 90, 100, 120)}


def tested_versions() -> tuple[str, ...]:
    return tuple(row.torch for row in TESTED)


def is_tested(version: str) -> bool:
    return minor_version(version) in tested_versions()


def minor_version(version: str) -> str:
    """ "2.11" for "2.11.0+cu130"."""
    return ".".join(version.split("+")[0].split(".")[:2])


def cuda_major(cuda: str) -> int:
    """13 for "13.0"."""
    return int(cuda.split(".")[0])


def architectures(torch_version: str, cuda: str) -> tuple[int, ...]:
    for row in TESTED:
        if (row.torch, row.cuda) == (minor_version(torch_version), cuda):
            return row.architectures
    return _ASSUMED_ARCHITECTURES[cuda_major(cuda)]


def binary_for(cc: int, available: tuple[int, ...]) -> int | None:
    """The machine code a GPU of compute capability `cc` would load: the newest of its own major version, as the loader
    does. None if the build has none that it could run."""
    usable = [arch for arch in available if arch // 10 == cc // 10 and arch <= cc]
    return max(usable, default=None)


def driver_version(cuda: str) -> int:
    """The CUDA version of the emulated driver: at least the build's own, and one that people have installed."""
    major, minor = (int(part) for part in cuda.split(".")[:2])
    return max(major * 1000 + minor * 10, {12: 12080}.get(major, 0))
