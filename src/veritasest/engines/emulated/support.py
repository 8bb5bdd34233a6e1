"""Which PyTorch builds are known to work, and what machine code they carry."""

from __future__ import annotations

# Minor version -> what it was tested with.
TESTED = {"2.11": "2.11.0+cu130, the build of the recorded H200 jobs"}

CUDA_MAJORS = (12, 13)
OLDEST_PYTHON = (3, 10)

# The compute capabilities the official builds are compiled for (torch.cuda.get_arch_list()). 2.11 with CUDA 13.0
# was read from the build itself; the others are assumed.
_ARCHITECTURES: dict[tuple[str, str], tuple[int, ...]] = {
    ("2.11", "13.0"): (75, 80, 86, 90, 100, 120),
}
_BY_CUDA_MAJOR = {12: (70, 75, 80, 86, 90, 100, 120), 13: (75, 80, 86, 90, 100, 120)}


def minor_version(version: str) -> str:
    """ "2.11" for "2.11.0+cu130"."""
    return ".".join(version.split("+")[0].split(".")[:2])


def cuda_major(cuda: str) -> int:
    """13 for "13.0"."""
    return int(cuda.split(".")[0])


def architectures(torch_version: str, cuda: str) -> tuple[int, ...]:
    known = _ARCHITECTURES.get((minor_version(torch_version), cuda))
    return known or _BY_CUDA_MAJOR[cuda_major(cuda)]


def binary_for(cc: int, available: tuple[int, ...]) -> int | None:
    """The machine code a GPU of capability `cc` would load: the newest of its own major version, as the loader does.

    None when the build carries none that it could run.
    """
    usable = [arch for arch in available if arch // 10 == cc // 10 and arch <= cc]
    return max(usable, default=None)


def driver_version(cuda: str) -> int:
    """The CUDA version of the emulated driver: at least the build's own, and one that people have installed."""
    major, minor = (int(part) for part in cuda.split(".")[:2])
    return max(major * 1000 + minor * 10, {12: 12080}.get(major, 0))
