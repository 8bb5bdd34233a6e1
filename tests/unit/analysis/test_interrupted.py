"""Recordings of estimates that were interrupted in a later run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import veritasest
from veritasest import api
from veritasest.errors import Interrupted

JOB = """
write(Assumed(how="size", operator="nonzero", file="train.py", line=3, code="x[mask]", value=7))
job.start()
if {when}:
    import signal
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(60)
job.reserve(min(limit, 5 << 30))
if limit < 5 << 30:
    job.run_out_of_memory(2 << 20)
job.step(1, 5 << 30)
job.end("steps")
"""
SAID = "the estimate was interrupted: some of its figures are missing"


def interrupted(job: Callable[[str], Path], folder: Path, when: str, **options: str) -> veritasest.Estimate:
    job(JOB.format(when=when))
    with pytest.raises(Interrupted, match="interrupted after"):
        api.record(["train.py"], gpu="h200", steps=1, save=folder, **options)
    return veritasest.estimate_recording(folder)


def test_the_verdict_of_the_first_run_stays(job: Callable[[str], Path], tmp_path: Path) -> None:
    found = interrupted(job, tmp_path / "saved", "job.run.choices == 'all'")
    assert (found.verdict, found.peak.reserved_bytes) == ("fits", 5 << 30)
    assert found.needs.assumed_range_bytes is None
    assert SAID in found.warnings
    assert not [warning for warning in found.warnings if "extremes" in warning or "not measured" in warning]


def test_without_the_unlimited_run_the_requirement_is_missing(job: Callable[[str], Path], tmp_path: Path) -> None:
    found = interrupted(job, tmp_path / "saved", "limit == float('inf')", memory="4GiB")
    assert (found.verdict, found.needs.unconstrained_bytes) == ("does_not_fit", None)
    assert SAID in found.warnings


def test_an_interrupted_first_run_is_undetermined(job: Callable[[str], Path], tmp_path: Path) -> None:
    found = interrupted(job, tmp_path / "saved", "True")
    assert found.undetermined is not None
    assert (found.verdict, found.undetermined.reason) == ("undetermined", "interrupted")


SKIPS = """
job.start()
job.reserve(1 << 30)
job.step(1, 1 << 30)
if job.run.stop.moves_on:
    write(StageBegun(stage=Stage.FORWARD, step=1))
    sys.exit(1)
import signal
os.kill(os.getppid(), signal.SIGINT)
time.sleep(60)
"""


def test_a_failure_that_was_not_confirmed_is_not_blamed_on_the_job(job: Callable[[str], Path], tmp_path: Path) -> None:
    job(SKIPS)
    with pytest.raises(Interrupted, match="interrupted after"):
        api.record(["train.py"], gpu="h200", save=tmp_path / "saved")
    found = veritasest.estimate_recording(tmp_path / "saved")
    assert found.undetermined is not None
    assert (found.verdict, found.undetermined.reason, len(found.runs)) == ("undetermined", "interrupted", 2)


DEFERS = """
job.start()
write(DeferredFree())
if job.run.events == "late":
    import signal
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(60)
job.reserve(5 << 30)
job.step(1, 5 << 30)
job.end("steps")
"""


def test_fits_is_not_claimed_while_the_run_that_could_refute_it_is_missing(
    job: Callable[[str], Path], tmp_path: Path
) -> None:
    job(DEFERS)
    with pytest.raises(Interrupted, match="interrupted after"):
        api.record(["train.py"], gpu="h200", steps=1, save=tmp_path / "saved")
    found = veritasest.estimate_recording(tmp_path / "saved")
    assert found.undetermined is not None
    assert (found.verdict, found.undetermined.reason) == ("undetermined", "interrupted")
