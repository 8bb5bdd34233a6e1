"""A stand-in installation: no native library and no PyTorch is needed to test the front end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

VERSION_FILE = "__version__ = {version!r}\ncuda: Optional[str] = {cuda!r}\nhip: Optional[str] = {hip!r}\n"


@pytest.fixture
def fake_torch(tmp_path: Path) -> Callable[..., Path]:
    """Makes a folder with a package `torch` in it that is told apart by its text files alone."""

    def make(version: str = "2.11.0+cu130", cuda: str | None = "13.0", hip: str | None = None) -> Path:
        folder = tmp_path / "fake" / "torch"
        (folder / "lib").mkdir(parents=True)
        (folder / "__init__.py").write_text("raise ImportError('must not be imported')")
        (folder / "version.py").write_text(VERSION_FILE.format(version=version, cuda=cuda, hip=hip))
        if cuda:
            (folder / "lib" / "libtorch_cuda.so").touch()
        return folder.parent

    return make


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_torch: Callable[..., Path]) -> Path:
    """A working folder where `veritasest run` works with scripts that write the trace themselves (see `job`)."""
    libraries = tmp_path / "lib"
    libraries.mkdir()
    (libraries / "preload.txt").write_text("libveritasest.so")
    # Preloading the C library once more changes nothing; it stands for the emulated device.
    c_library = next(path for path in Path("/proc/self/maps").read_text().split() if "/libc.so" in path)
    (libraries / "libveritasest.so").symlink_to(c_library)
    monkeypatch.setenv("VERITASEST_LIB", str(libraries))
    monkeypatch.setenv("VERITASEST_FILES", "allowed")  # no libraries to hold files back with
    monkeypatch.setenv("PYTHONPATH", f"{fake_torch()}{os.pathsep}{Path(__file__).parents[2] / 'src'}")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


JOB = """
import os, sys, time
from veritasest.trace.writer import TraceWriter
trace = TraceWriter(os.environ["VERITASEST_TRACE"])
fields = dict(f.split("=", 1) for f in os.environ["VERITASEST_DEVICE"].split(";"))
limit = float("inf") if fields["limit"] == "none" else int(fields["limit"])
def process(): trace.write("process", torch="2.11.0+cu130", cuda="13.0", cudnn=91900, python="3.11.7", argv=[])
held = 0
def take(size, used):
    global held  # the device's books: what was held, by so much more or less, is what is held
    more, held = used - held, used
    op = "alloc" if more >= 0 else "free"
    trace.write("segment", op=op, device=0, bytes=abs(more), address=1, used_bytes=used)
def step(n, peak): trace.write("step", step=n, device=0, allocated_peak_bytes=peak, reserved_peak_bytes=peak)
def end(reason): trace.write("end", reason=reason, device=0, allocated_peak_bytes=0, reserved_peak_bytes=0)
def oom(size):
    trace.write("oom", device=0, bytes=size, step=0, file="train.py", line=7, function="main", code="model(x)")
    trace.write("exception", type="torch.OutOfMemoryError", message="CUDA out of memory.")
    sys.exit(1)
"""


@pytest.fixture
def job(bench: Path) -> Callable[[str], Path]:
    """Writes a script into the working folder that plays device and agent by itself."""

    def make(text: str, name: str = "train.py") -> Path:
        path = bench / name
        path.write_text(JOB + text)
        return path

    return make
