"""Fixtures for tests of the front end: jobs that write their trace themselves (veritasest.engines.scripted)."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

VERSION_FILE = "__version__ = {version!r}\ncuda: Optional[str] = {cuda!r}\nhip: Optional[str] = {hip!r}\n"


@pytest.fixture
def fake_torch(tmp_path: Path) -> Callable[..., Path]:
    """Makes a folder with a package `torch` in it that only its text files distinguish."""

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
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_torch: Callable[..., Path]) -> Path:
    """The current folder, in which `veritasest run` uses the engine `scripted`; importing torch fails in its jobs."""
    monkeypatch.setenv("VERITASEST_ENGINE", "scripted")
    monkeypatch.setenv("VERITASEST_FILES", "allowed")  # there are no native libraries to hold files back with
    monkeypatch.setenv("PYTHONPATH", str(fake_torch()))
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


PRELUDE = """\
import os, sys, time
from veritasest.engines.scripted import Script
from veritasest.spec.enums import *
from veritasest.trace import *
job = Script()
write = job.trace.write
limit = job.limit_bytes
"""


@pytest.fixture
def job(workspace: Path) -> Callable[..., Path]:
    """Writes a script into the current folder that plays device and agent by itself (veritasest.engines.scripted)."""

    def make(text: str, name: str = "train.py") -> Path:
        path = workspace / name
        path.write_text(PRELUDE + textwrap.dedent(text))
        return path

    return make


@pytest.fixture
def emulated_engine(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same jobs with the engine `emulated`: the C library, preloaded once more, takes the place of its libraries,
    which changes nothing. Returns their folder."""
    libraries = workspace.parent / "lib"
    libraries.mkdir()
    (libraries / "preload.txt").write_text("libc_again.so")
    c_library = next(path for path in Path("/proc/self/maps").read_text().split() if "/libc.so" in path)
    (libraries / "libc_again.so").symlink_to(c_library)
    monkeypatch.delenv("VERITASEST_ENGINE")
    monkeypatch.setenv("VERITASEST_LIB", str(libraries))
    packages = [path for path in sys.path if (Path(path) / "veritasest").is_dir()]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.environ["PYTHONPATH"], *packages]))
    return libraries
