"""How far guesses, assumed values, kernel timing and addresses move the requirement."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import veritasest
from veritasest.spec.estimate import Needs

Job = Callable[[str], Path]
MIB = 1 << 20
GIB = 1 << 30
CONTEXT = 527 << 20  # of the H200

GUESSES = """
job.start()
write(Unmodelled(library="cufft", name="plan", how="{how}"))
size = {sizes}.get(job.run.guesses, 5 << 30)
job.reserve(size)
job.step(1, size)
job.end("steps")
"""


def test_a_guessed_size_is_moved_to_its_bounds(job: Job) -> None:
    job(GUESSES.format(how="bounded", sizes="{'low': 4 << 30, 'high': 3 << 30}"))
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert found.needs.unconstrained_bytes == 5 * GIB
    assert found.needs.guessed_range_bytes == (3 * GIB, 5 * GIB)  # a larger workspace may well reserve less
    assert (found.needs.guessed_minimum_range_bytes, len(found.runs)) == (None, 3)


def test_guesses_that_are_never_too_high_cost_one_more_run(job: Job) -> None:
    job(GUESSES.format(how="bounded above", sizes="{'high': 7 << 30}"))
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert (found.needs.guessed_range_bytes, len(found.runs)) == ((5 * GIB, 7 * GIB), 2)


def test_the_range_of_the_minimum_moves_with_the_allocated_peak(job: Job) -> None:
    job(GUESSES.format(how="bounded above", sizes="{'high': 7 << 30}"))
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1, minimum=True)
    least = found.needs.minimum_bytes
    assert least is not None
    assert found.needs.guessed_minimum_range_bytes == (least, least + 2 * GIB)


ASSUMES = """
{before}
write(Assumed(how="{how}", operator="nonzero", file="train.py", line=3, code="x[mask]", value=7))
job.start()
size = {{"none": 1 << 30, "all": 9 << 30}}.get(job.run.choices, 5 << 30)
job.reserve(size)
job.step(1, size)
job.end("steps")
"""


def test_assumed_sizes_are_tried_with_nothing_and_with_everything_selected(job: Job) -> None:
    job(ASSUMES.format(how="size", before=""))
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert found.needs.unconstrained_bytes == 5 * GIB
    assert found.needs.assumed_range_bytes == (1 * GIB, 9 * GIB)
    assert [(one.how, one.line, one.value) for one in found.assumed] == [("size", 3, 7)]
    assert len(found.runs) == 3


def test_a_job_that_fails_with_nothing_selected_still_has_a_range(job: Job) -> None:
    job(ASSUMES.format(how="size", before="job.run.choices == 'none' and sys.exit(1)"))
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert found.needs.assumed_range_bytes == (5 * GIB, 9 * GIB)


def test_a_job_that_fails_at_both_extremes_has_an_unknown_range(job: Job) -> None:
    job(ASSUMES.format(how="size", before="job.run.choices and sys.exit(1)"))
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert (found.verdict, found.needs.assumed_range_bytes) == ("fits", None)
    assert any("the effect is unknown: the job fails at both extremes" in warning for warning in found.warnings)


def test_sizes_that_do_not_move_the_requirement_give_no_range(job: Job) -> None:
    job(ASSUMES.format(how="size", before="").replace(".get(job.run.choices, 5 << 30)", "and 5 << 30"))
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert (found.needs.assumed_range_bytes, len(found.runs)) == (None, 3)


def test_assumed_numbers_cost_no_more_runs(job: Job) -> None:
    job(ASSUMES.format(how="number", before=""))
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert (found.needs.assumed_range_bytes, len(found.assumed), len(found.runs)) == (None, 1, 1)


def test_a_long_job_is_not_run_again_for_assumed_sizes(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("studies.ranges", "analysis.needs"):
        monkeypatch.setattr(f"veritasest.{module}.PATIENCE_S", 0.0)
    job(ASSUMES.format(how="size", before=""))
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert (found.needs.assumed_range_bytes, len(found.runs)) == (None, 1)
    said = "some allocation sizes depend on assumed values; the effect was not measured because a run takes over 0 s"
    assert said in found.warnings


# Blocks come back late: 6 GiB instead of 5, and at a capacity below 5.5 GiB even retries do not help.
DEFERS = """
job.start()
late = job.run.events is EventTiming.LATE
write(DeferredFree())
size = (6 if late else 5) << 30
if size > limit:
    write(Refused(device=0, bytes=1, used_bytes=1, limit_bytes=limit))
job.reserve(min(size, limit))
if late and limit < 5.5 * (1 << 30):
    job.run_out_of_memory(2 << 20)
for number in range(1, 4):
    job.step(number, 4 << 30)
job.end("settled")
"""


def test_a_job_whose_blocks_come_back_late_has_a_timing_range(job: Job) -> None:
    job(DEFERS)
    found = veritasest.estimate(["train.py"], gpu="h200")
    assert (found.verdict, found.peak.reserved_bytes) == ("fits", 5 * GIB)
    assert (found.needs.timing_range_bytes, found.needs.address_range_bytes) == ((5 * GIB, 6 * GIB), None)
    assert [run.limit_bytes for run in found.runs][1:] == [None]


def test_a_job_without_such_blocks_costs_no_further_run(job: Job) -> None:
    job(DEFERS.replace("write(DeferredFree())", ""))
    found = veritasest.estimate(["train.py"], gpu="h200")
    assert (found.needs.timing_range_bytes, len(found.runs)) == (None, 1)


def test_a_job_that_does_not_move_has_no_timing_range(job: Job) -> None:
    job(DEFERS.replace("(6 if late else 5)", "5"))
    found = veritasest.estimate(["train.py"], gpu="h200")
    assert (found.needs.timing_range_bytes, found.needs.repeats_range_bytes, len(found.runs)) == (None, None, 2)


def test_the_upper_end_decides_at_the_capacity_of_the_gpu(job: Job) -> None:
    job(DEFERS)
    found = veritasest.estimate(["train.py"], gpu="h200", memory=5 * GIB + CONTEXT)
    assert (found.verdict, found.failure and found.failure.kind) == ("does_not_fit", "oom")
    assert [run.limit_bytes for run in found.runs] == [5 * GIB, None, 5 * GIB]
    assert found.needs.timing_range_bytes == (5 * GIB, 6 * GIB)


def test_a_job_that_completes_at_its_upper_end_fits_with_a_warning(job: Job) -> None:
    job(DEFERS)
    found = veritasest.estimate(["train.py"], gpu="h200", memory=5 * GIB + 700 * MIB + CONTEXT)
    assert (found.verdict, len(found.runs)) == ("fits", 3)
    assert [warning for warning in found.warnings if "close to the limit: some runs of this job" in warning]


def test_a_late_run_that_fails_leaves_the_effect_of_timing_unknown(job: Job) -> None:
    job(DEFERS.replace("write(DeferredFree())", "late and sys.exit(9)\nwrite(DeferredFree())"))
    found = veritasest.estimate(["train.py"], gpu="h200")
    assert (found.verdict, found.needs.timing_range_bytes) == ("fits", None)
    assert any("depends on kernel timing is unknown" in warning for warning in found.warnings)


# The history of test_allocator.TIE as PyTorch would leave it: 36 MiB reserved here, 60 MiB with other addresses.
TIE = """
job.start()
MIB = 1 << 20
A, Y = 1 << 40, 1 << 36
rows = [("s", A, 24), ("a", A, 24), ("c", A, 24), ("a", A, 12), ("a", A + 12 * MIB, 12), ("s", Y, 12), ("a", Y, 12),
        ("c", A, 12), ("c", Y, 12), ("a", Y, 12), ("c", A + 12 * MIB, 12), ("a", A, 24)]
actions, addresses, sizes = zip(*rows)
write(Blocks(device=0, step=0, actions="".join(actions), addresses=addresses, sizes=[size * MIB for size in sizes]))
job.reserve(36 * MIB)
job.step(1, 36 * MIB)
job.end("steps")
"""


def test_a_job_whose_addresses_matter_has_a_range_and_no_further_run(job: Job) -> None:
    job(TIE)
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert (found.verdict, found.needs.address_range_bytes, len(found.runs)) == ("fits", (36 * MIB, 60 * MIB), 1)
    assert not any("close to the limit" in warning for warning in found.warnings)


def test_addresses_that_could_reach_the_limit_have_a_warning(job: Job) -> None:
    job(TIE)
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1, memory=50 * MIB + CONTEXT)
    assert found.verdict == "fits"
    assert any("would reserve 60.00 MiB, more than the 50.00 MiB" in warning for warning in found.warnings)


def test_both_causes_add_up() -> None:
    needs = Needs(unconstrained_bytes=100, timing_range_bytes=(100, 110), address_range_bytes=(95, 103))
    assert needs.repeats_range_bytes == (95, 113)
