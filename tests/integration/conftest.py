"""Real runs of the `veritasest` command on real scripts, each written to the test's own folder."""

import json
import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import veritasest
from veritasest.engines.emulated import engine
from veritasest.spec.estimate import Estimate
from veritasest.trace import Trace
from veritasest.trace.recording import open_recording

VERITASEST = [sys.executable, "-m", "veritasest"]
MIB = 2**20
# Long enough for the slowest run on a busy machine, short enough that a hang is noticed.
PATIENCE_S = 240

# A job that takes no longer than importing torch, and would train for ever.
TRAIN_FOREVER = """
import itertools
import torch

model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.Adam(model.parameters())

def train(steps=None):
    for step in itertools.count() if steps is None else range(steps):
        optimizer.zero_grad()
        model(torch.randn(64, 1024).cuda()).sum().backward()
        optimizer.step()
"""


@dataclass(frozen=True, kw_only=True)
class Run:
    """How a `veritasest run` ended."""

    code: int
    stdout: bytes
    stderr: str
    estimate: dict[str, Any] | None

    @property
    def worst(self) -> dict[str, Any]:
        """The GPU that decides."""
        assert self.estimate is not None, self.text
        return self.estimate["ranks"][0]

    @property
    def peak(self) -> dict[str, Any]:
        return self.worst["peak"]

    @property
    def needs(self) -> dict[str, Any]:
        return self.worst["needs"]

    @property
    def text(self) -> str:
        """All that a user reads, with the line breaks of the terminal report undone."""
        return " ".join((self.stdout.decode(errors="replace") + " " + self.stderr).split())


def environment(**extra: str) -> dict[str, str]:
    """Ours, with this interpreter's commands first, no allocator settings, and a port that no other torchrun takes."""
    clean = {key: value for key, value in os.environ.items() if not key.endswith("ALLOC_CONF")}
    ours = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}", "COLUMNS": "160"}
    return {**clean, **ours, "PET_MASTER_PORT": str(free_port()), **extra}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return found.getsockname()[1]


def call(*words: str, cwd: Path, **extra: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*VERITASEST, *words], cwd=cwd, env=environment(**extra), capture_output=True, timeout=PATIENCE_S, check=False
    )


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a script into the test's folder."""

    def write(body: str, name: str = "train.py") -> Path:
        path = tmp_path / name
        path.write_text(textwrap.dedent(body))
        return path

    return write


@pytest.fixture
def estimate(script: Callable[[str], Path], tmp_path: Path) -> Callable[..., Run]:
    """Estimates a script given as text; options of `run` follow, environment variables as keywords."""

    def run(body: str, *options: str, **extra: str) -> Run:
        answer = tmp_path / "estimate.json"
        answer.unlink(missing_ok=True)
        words = ["run", *_with_defaults(options), "--json", str(answer), "--", sys.executable, str(script(body))]
        done = call(*words, cwd=tmp_path, **extra)
        found = json.loads(answer.read_text()) if answer.exists() else None
        return Run(code=done.returncode, stdout=done.stdout, stderr=done.stderr.decode(), estimate=found)

    return run


@pytest.fixture
def estimate_with(
    script: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Estimate]:
    """Estimates a script with settings of the native part that no option has; the job's output goes to `output`."""

    def run(body: str, settings: dict[str, str], **options: Any) -> Estimate:
        usual = engine.native_settings
        monkeypatch.setattr(engine, "native_settings", lambda *facts: {**usual(*facts), **settings})
        with open(tmp_path / "output", "wb") as output:
            command = [sys.executable, str(script(body))]
            return veritasest.estimate(command, cwd=tmp_path, env=environment(), stdout=output.fileno(), **options)

    return run


def trace_of(folder: Path) -> Trace:
    """The first run of a saved recording."""
    return open_recording(folder).runs[0].trace()


def _with_defaults(options: tuple[str, ...]) -> list[str]:
    """On an H200, with a second to look further once the peak has settled, unless the test chooses."""
    target = [] if "--gpu" in options else ["--gpu", "h200"]
    stop = [] if {"--budget", "--steps", "--until-exit"} & set(options) else ["--budget", "1"]
    return [*target, *stop, *options]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts `veritasest` and does not wait; what still runs at the end of the test is ended."""
    running: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> subprocess.Popen[bytes]:
        command = [*VERITASEST, *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        running.append(subprocess.Popen(command, cwd=tmp_path, env=environment(), start_new_session=True, **pipes))
        return running[-1]

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()
