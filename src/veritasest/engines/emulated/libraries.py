"""Where the native stand-in libraries are, and in which order they are loaded."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from veritasest.errors import UnsupportedEnvironment

# Written by the build (native/CMakeLists.txt): one library per line, those for one CUDA version in a folder, cu13/...
_PRELOAD = "preload.txt"
_AUDIT = "libveritasest_audit.so"


@dataclass(frozen=True, kw_only=True)
class Installation:
    """`home` is the folder of the veritasest package, `libraries` the folder of the stand-ins."""

    home: Path
    libraries: Path

    def preload(self, cuda_major: int) -> tuple[Path, ...]:
        """Every stand-in for one CUDA major version, in loading order."""
        names = (self.libraries / _PRELOAD).read_text().split()
        return tuple(self.libraries / name for name in names if "/" not in name or name.startswith(f"cu{cuda_major}/"))

    def has_stand_ins(self, cuda_major: int) -> bool:
        return any(path.exists() for path in self.preload(cuda_major))

    @property
    def audit(self) -> Path:
        """The loader's audit module that leads paths of the real libraries to the stand-ins (native/audit/audit.c)."""
        return self.libraries / _AUDIT


def installed() -> Installation:
    """The stand-ins of this installation; VERITASEST_LIB names another folder of them, for development."""
    home = Path(__file__).resolve().parents[2]
    for folder in _candidates():
        if (folder / _PRELOAD).exists():
            return Installation(home=home, libraries=folder.resolve())
    raise UnsupportedEnvironment(f"the emulated device is not part of this installation ({_host()})", _remedy())


def _candidates() -> list[Path]:
    given = os.environ.get("VERITASEST_LIB")
    if given:
        return [Path(given)]
    # An editable install has the package in two places: sources here, what was built there.
    return [Path(folder) / "lib" for folder in sys.modules[__package__].__path__]


@contextmanager
def without_special_characters(installation: Installation) -> Iterator[Installation]:
    """The same under paths that LD_PRELOAD and PYTHONPATH can hold: neither can quote a space or a colon."""
    if not any(set(" :\t\n") & set(str(path)) for path in (installation.home, installation.libraries)):
        yield installation
        return
    folder = Path(tempfile.mkdtemp(prefix="veritasest-"))
    try:
        (folder / "lib").symlink_to(installation.libraries)
        (folder / "veritasest").symlink_to(installation.home)
        yield Installation(home=folder / "veritasest", libraries=folder / "lib")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _host() -> str:
    libc = "".join(platform.libc_ver()) or "no glibc"
    return f"{sys.platform} {platform.machine()}, {libc}"


def _remedy() -> str:
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        return "VeritasEst runs on Linux x86-64: use such a machine, a container, or WSL 2"
    if platform.libc_ver()[0] != "glibc":
        return "VeritasEst needs glibc, as PyTorch's own CUDA builds do: use a glibc distribution or container"
    return "install it again with a C compiler and CMake at hand: pip install --force-reinstall veritasest"
