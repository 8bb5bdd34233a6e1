"""Which runs show whether a job fits, and how much it needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import veritasest
from veritasest.spec.enums import Purpose

Job = Callable[[str], Path]
GIB = 1 << 30

NEEDS_20_GIB = """
job.start()
job.reserve(min(limit, 20 << 30))
if limit < {least} << 30:
    job.run_out_of_memory(2 << 20)
job.step(1, 16 << 30)
job.end("steps")
"""
# Fails once batches are skipped: in the stage that the agent would have begun after the fifth step.
FAILS_WHEN_SKIPPING = """
job.start()
job.reserve(1 << 30)
for number in range(1, 6):
    job.step(number, 1 << 30)
if job.run.stop.moves_on:
    write(StageBegun(stage=Stage.FORWARD, step=5))
    write(JobException(type="ValueError", message="epoch too short"))
    sys.exit(1)
job.end({end})
{last}
"""


def test_a_job_that_does_not_fit_is_run_again_without_a_limit(job: Job) -> None:
    job(NEEDS_20_GIB.format(least=20))
    found = veritasest.estimate(["train.py"], memory="8GiB")
    assert (found.verdict, found.needs.unconstrained_bytes) == ("does_not_fit", 20 * GIB)
    assert found.failure is not None
    assert (found.failure.file, found.failure.line, found.failure.requested_bytes) == ("train.py", 7, 2 << 20)
    assert [run.limit_bytes for run in found.runs] == [8 * GIB - (527 << 20), None]
    assert [run.purpose for run in found.runs] == [Purpose.CAPACITY, Purpose.UNLIMITED]


def test_an_unlimited_run_that_fails_leaves_the_requirement_unknown(job: Job) -> None:
    job("limit == float('inf') and sys.exit(9)\n" + NEEDS_20_GIB.format(least=20))
    found = veritasest.estimate(["train.py"], memory="8GiB")
    assert (found.verdict, found.needs.unconstrained_bytes, found.needs.process_bytes) == ("does_not_fit", None, None)
    said = "the unlimited run did not finish, so the requirement is unknown: the job ended with exit code 9"
    assert said in found.warnings


def test_the_minimum_is_bisected_between_the_peaks_of_the_unlimited_run(job: Job) -> None:
    job(NEEDS_20_GIB.format(least=18))
    found = veritasest.estimate(["train.py"], gpu="h200", minimum=True)
    assert found.needs.minimum_bytes is not None
    assert 18 * GIB <= found.needs.minimum_bytes <= 18 * GIB * 1.0025
    assert len(found.runs) <= 1 + 8
    assert {run.purpose for run in found.runs[1:]} == {Purpose.MINIMUM}


def test_the_output_of_the_job_is_shown_once(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job("print('hello', flush=True)\n" + NEEDS_20_GIB.format(least=20))
    assert len(veritasest.estimate(["train.py"], memory="8GiB", minimum=True).runs) > 2
    assert capfd.readouterr().out == "hello\n"


def test_allocation_retries_alone_lead_to_an_unlimited_run(job: Job) -> None:
    job("""
    job.start()
    job.reserve(min(limit, 20 << 30))
    if limit < 20 << 30:
        write(Refused(device=0, bytes=1, used_bytes=1, limit_bytes=1))
    job.end("exit")
    """)
    found = veritasest.estimate(["train.py"], memory="16GiB")
    assert (found.verdict, found.needs.unconstrained_bytes) == ("fits", 20 * GIB)
    assert found.peak.reserved_bytes == found.worst.available_bytes


def test_a_script_that_fails_because_parts_were_skipped_is_run_without_skipping(job: Job) -> None:
    job(FAILS_WHEN_SKIPPING.format(end='"steps"', last=""))
    found = veritasest.estimate(["train.py"])
    assert (found.verdict, found.failure) == ("fits", None)
    assert [(run.purpose, run.verdict) for run in found.runs] == [
        ("capacity", "job_failed"),
        ("without skipping", "fits"),
    ]
    assert (
        "skipping repeated parts made the script fail (ValueError: epoch too short); nothing after step 5 was observed"
        in found.warnings
    )


def test_a_script_that_fails_without_skipping_as_well_has_failed(job: Job) -> None:
    job(FAILS_WHEN_SKIPPING.format(end='"exit"', last="sys.exit(3)"))
    found = veritasest.estimate(["train.py"])
    assert found.failure is not None
    assert (found.verdict, found.failure.message) == ("job_failed", "the job ended with exit code 3")
