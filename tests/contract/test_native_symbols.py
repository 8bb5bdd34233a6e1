"""The stand-in libraries answer everything torch's own libraries import, and their tables are in order."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from prerequisites import cuda_torch, missing, native_installation, program

TABLES = Path(__file__).parents[2] / "native" / "symbols"
TORCH_LIBRARIES = (
    "libc10_cuda.so",
    "libcaffe2_nvrtc.so",
    "libtorch_cpu.so",
    "libtorch_cuda.so",
    "libtorch_cuda_linalg.so",
    "libtorch_nvshmem.so",
    "libtorch_python.so",
)
# Symbols of these libraries carry no version that names their library; their prefix does.
UNVERSIONED = {
    r"nccl[A-Z]": "libnccl.so.2",
    r"nvml[A-Z]": "libnvidia-ml.so.1",
    r"cu(?!File)[A-Z]": "libcuda.so.1",
}


def symbols(library: Path, which: str) -> Iterator[tuple[str, str]]:
    """Name and version of every dynamic symbol; `which` is nm's --undefined-only or --defined-only."""
    done = subprocess.run([program("nm"), "-D", which, str(library)], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        name, _, version = line.split()[-1].partition("@")
        yield name, version.lstrip("@")


def home_of(name: str, version: str) -> str | None:
    """The file name of the library that an undefined symbol comes from, where that is known."""
    if version:
        return version
    return next((library for prefix, library in UNVERSIONED.items() if re.match(prefix, name)), None)


@pytest.fixture(scope="module")
def torch_home() -> Path:
    return cuda_torch()


@pytest.fixture(scope="module")
def exported(torch_home: Path) -> dict[str, set[str]]:
    """What each stand-in for torch's CUDA version exports, by soname."""
    installation = native_installation()
    version = re.search(r"^cuda\b.*= '(\d+)\.", (torch_home / "version.py").read_text(), re.MULTILINE)
    assert version, "torch/version.py names no CUDA version"
    paths = installation.preload(int(version[1]))
    return {path.name: {name for name, _ in symbols(path, "--defined-only")} for path in paths}


@pytest.mark.parametrize("library", TORCH_LIBRARIES)
def test_every_import_of_torch_is_answered(library: str, torch_home: Path, exported: dict[str, set[str]]) -> None:
    path = torch_home / "lib" / library
    if not path.exists():
        raise missing(f"this torch has no {library}")
    unanswered = [
        name
        for name, version in symbols(path, "--undefined-only")
        if (home := home_of(name, version)) in exported and name not in exported[home]
    ]
    assert unanswered == []


def test_the_imports_of_torch_are_found(torch_home: Path, exported: dict[str, set[str]]) -> None:
    """Guards the test above against finding nothing because nm's output or torch's file names changed."""
    path = torch_home / "lib" / "libtorch_cuda.so"
    homes = Counter(home_of(name, version) for name, version in symbols(path, "--undefined-only"))
    stood_in = {home for home in homes if home in exported}
    assert {stem.split(".so")[0] for stem in stood_in if stem} >= {"libcudart", "libcublas", "libcublasLt", "libnccl"}


@pytest.mark.parametrize("table", sorted(TABLES.glob("*.def")), ids=lambda path: path.stem)
def test_tables_are_sorted(table: Path) -> None:
    names = re.findall(r"^VEST_\w+\((\w+)\)$", table.read_text(), re.MULTILINE)
    assert names == sorted(names)


@pytest.mark.parametrize("library", sorted({path.stem.rpartition("_")[0] for path in TABLES.glob("*.def")}))
def test_no_entry_point_is_listed_twice(library: str) -> None:
    text = "".join(path.read_text() for path in TABLES.glob(f"{library}_*.def"))
    counts = Counter(re.findall(r"^VEST_\w+\((\w+)\)$", text, re.MULTILINE))
    assert [name for name, count in counts.items() if count > 1] == []
