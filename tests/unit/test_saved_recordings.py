"""An estimate from a saved recording is the live one: byte for byte, after a move, without PyTorch."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from veritasest import api
from veritasest.cli import main
from veritasest.report import reporters
from veritasest.report.exit_codes import EXIT_CODES
from veritasest.spec.enums import Verdict

FITS = "job.start(rank=3); job.reserve(3 << 30); job.step(1, 3 << 30); job.end('exit')"
DOES_NOT_FIT = """
job.start()
job.reserve(min(limit, 20 << 30))
if limit < 20 << 30:
    job.run_out_of_memory(2 << 20)
job.step(1, 16 << 30)
job.end("steps")
"""
MOVES = """
write(Assumed(how="size", operator="nonzero", file="train.py", line=3, code="x[mask]", value=7, dtype="bool"))
write(Unmodelled(library="cufft", name="plan", how="bounded"))
write(Library(library="cublas", device=0, bytes=1 << 26, libraries_bytes=1 << 26))
write(DeferredFree())
job.start()
size = 5 << 30
if job.run.choices or job.run.guesses or job.run.events is EventTiming.LATE:
    size = 6 << 30
job.reserve(size)
job.step(1, size)
write(NotReached(what="test()", file="train.py", line=9))
job.end("steps")
"""
JOBS = {
    Verdict.FITS: (FITS, ["--gpu", "t4"]),
    Verdict.DOES_NOT_FIT: (DOES_NOT_FIT, ["--gpu", "h200", "--memory", "8GiB", "--minimum"]),
    Verdict.JOB_FAILED: ("write(JobException(type='ValueError', message='no data')); sys.exit(1)", []),
    Verdict.UNDETERMINED: ("pass", ["--until-exit"]),
    Verdict.UNSUPPORTED: ("write(Unmodelled(library='cufft', name='x', how='refused')); sys.exit(1)", []),
    "with ranges": (MOVES, ["--steps", "1"]),
}
# A Python that cannot import torch, and finds none of the stand-in libraries.
WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from veritasest.cli import main
code = main(sys.argv[1:])
assert not [name for name in sys.modules if name.startswith("torch.")]
sys.exit(code)
"""


def reported(folder: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    """By another process, elsewhere, with an environment of its own."""
    package = Path(api.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, "report", str(folder), *options],
        cwd="/",
        env={"PYTHONPATH": str(package), "VERITASEST_LIB": "/nowhere", "HOME": "/nowhere"},
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("name", JOBS, ids=str)
def test_a_moved_recording_gives_the_same_bytes_without_torch(
    job: Callable[[str], Path], workspace: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], name: str
) -> None:
    script, options = JOBS[name]
    job(script)
    code = main(["run", "--json", "live.json", "--save", "saved", *options, "--", "python", "train.py"])
    live = capfdbinary.readouterr().out
    if name in EXIT_CODES:
        assert code == EXIT_CODES[Verdict(name)]
    moved = Path(shutil.move(workspace / "saved", tmp_path / "another place"))
    (workspace / "train.py").unlink()

    in_words = reported(moved)
    assert (in_words.returncode, in_words.stderr) == (code, b"")
    assert in_words.stdout == live
    as_json = reported(moved, "--quiet", "--json", "-")
    assert as_json.stdout == (workspace / "live.json").read_bytes()


def test_what_is_reported_twice_is_the_same(job: Callable[[str], Path], workspace: Path) -> None:
    job(MOVES)
    recording = api.record(["train.py"], gpu="h200", steps=1, save=workspace / "saved")
    first, second = api.estimate_of(recording), api.estimate_recording(workspace / "saved")
    assert first.to_dict() == second.to_dict()
    assert first.needs.assumed_range_bytes == (5 << 30, 6 << 30)
    assert set(reporters()) >= {"terminal", "json"}


def test_a_run_that_left_no_trace_is_as_if_it_had_not_begun(job: Callable[[str], Path], workspace: Path) -> None:
    job(DOES_NOT_FIT)
    api.estimate(["train.py"], memory="8GiB", save=workspace / "saved")
    (workspace / "saved" / "runs" / "02-unlimited" / "trace.jsonl").unlink()
    found = api.estimate_recording(workspace / "saved")
    assert (found.verdict, found.needs.unconstrained_bytes, len(found.runs)) == ("does_not_fit", None, 1)
