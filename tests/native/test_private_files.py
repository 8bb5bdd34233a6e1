"""Whole runs whose files are held back, by an overlay and by the interposer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import veritasest
from prerequisites import native_installation
from veritasest.errors import UsageError

Job = Callable[[str], Path]
MODES = ("overlay", "interposer")
PROGRAMS = ("veritasest-enter", "libveritasest_files.so", "libveritasest_sparse.so")
TRAINS = """
job.start()
job.reserve(3 << 30)
job.step(1, 3 << 30)
job.end("steps")
"""

PRINTS_ITS_START = """
import signal
print(os.getcwd(), os.getuid(), os.getgid(), os.getppid(), os.getsid(0) == os.getpid(), sys.argv,
      signal.getsignal(signal.SIGINT), os.umask(0), sorted(os.listdir("/proc/self/fd")))
print(sorted(os.environ), flush=True)
"""


@pytest.fixture(autouse=True)
def _real_programs(emulated_engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that hold files back; the CUDA libraries stay out."""
    with monkeypatch.context() as patch:
        patch.delenv("VERITASEST_LIB")
        real = native_installation().libraries
    for name in PROGRAMS:
        (emulated_engine / name).symlink_to(real / name)


@pytest.mark.parametrize("mode", MODES)
def test_every_run_of_a_job_starts_from_the_files_of_the_user(
    job: Job, workspace: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("VERITASEST_FILES", mode)
    (workspace / "counter").write_text("0")
    job("""
    count = int(open("counter").read())
    assert count == 0, count
    open("counter", "w").write(str(count + 1))
    assert open("counter").read() == "1"
    job.start()
    job.reserve(min(limit, 20 << 30))
    if limit < 20 << 30:
        job.run_out_of_memory(2 << 20)
    job.step(1, 16 << 30)
    job.end("steps")
    """)
    found = veritasest.estimate(["train.py"], memory="8GiB")
    assert (found.verdict, [run.verdict for run in found.runs]) == ("does_not_fit", ["does_not_fit", "fits"])
    assert (workspace / "counter").read_text() == "0"
    assert found.files is not None
    assert (found.files.mode, found.files.written, found.files.deleted, found.files.bytes) == (mode, 1, 0, 1)
    assert found.files.examples == (str(workspace / "counter"),)


@pytest.mark.parametrize("mode", MODES)
def test_the_job_is_started_as_without_a_layer(
    job: Job, workspace: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], mode: str
) -> None:
    job(PRINTS_ITS_START + TRAINS)
    printed = []
    for name in ("allowed", mode):
        monkeypatch.setenv("VERITASEST_FILES", name)
        veritasest.estimate(["train.py", "--lr", "1"])
        printed.append(capfd.readouterr().out)
    assert printed[0] == printed[1]
    assert str(workspace) in printed[0]


@pytest.mark.parametrize("mode", MODES)
def test_a_command_that_cannot_run_is_wrong_usage(workspace: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setenv("VERITASEST_FILES", mode)
    (workspace / "train").write_text("#!/no/such/interpreter\n")
    (workspace / "train").chmod(0o755)
    with pytest.raises(UsageError, match=r"cannot run './train'"):
        veritasest.estimate(["./train"])


def test_allowed_writes_are_real(job: Job, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERITASEST_FILES")
    job("open('model.pt', 'w').write('weights')\n" + TRAINS)
    held = veritasest.estimate(["train.py"])
    assert held.files is not None
    assert held.files.mode in MODES
    assert not (workspace / "model.pt").exists()
    allowed = veritasest.estimate(["train.py"], allow_writes=True)
    assert allowed.files is not None
    assert (allowed.files.mode, allowed.files.written) == ("allowed", 0)
    assert (workspace / "model.pt").read_text() == "weights"
