"""What repeats of a job may reserve, on scripts that play the device and the agent (see conftest.py)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.console import Console

import veritasest
from veritasest.report import terminal
from veritasest.spec.estimate import Needs

Job = Callable[[str], Path]
MIB = 1 << 20
GIB = 1 << 30
CONTEXT = 527 << 20  # of the H200

# Blocks come back late: 6 GiB instead of 5, and at a capacity below 5.5 GiB even the retries do not help.
DEFERS = """
process()
late = os.environ.get("VERITASEST_EVENTS") == "late"
trace.write("deferred_free", device=0)
size = (6 if late else 5) << 30
if size > limit: trace.write("refused", device=0, bytes=1, used_bytes=1, limit_bytes=limit)
take(1, min(size, limit))
if late and limit < 5.5 * (1 << 30): oom(2 << 20)
for n in range(1, 4): step(n, 4 << 30)
end("settled")
"""

# The history of test_allocator.TIE as PyTorch would leave it: 36 MiB reserved here, 60 MiB with other addresses.
TIE = """
process()
MIB = 1 << 20
A, Y = 1 << 40, 1 << 36
rows = [("s", A, 24), ("a", A, 24), ("c", A, 24), ("a", A, 12), ("a", A + 12 * MIB, 12), ("s", Y, 12), ("a", Y, 12),
        ("c", A, 12), ("c", Y, 12), ("a", Y, 12), ("c", A + 12 * MIB, 12), ("a", A, 24)]
trace.write("blocks", device=0, step=0, actions="".join(row[0] for row in rows), addresses=[row[1] for row in rows],
            sizes=[row[2] * MIB for row in rows])
take(1, 36 * MIB); step(1, 36 * MIB); end("steps")
"""


def test_a_job_whose_blocks_come_back_late_has_a_timing_range(job: Job) -> None:
    job(DEFERS)
    found = veritasest.estimate(["train.py"], gpu="h200")
    assert (found.verdict, found.peak.reserved_bytes) == ("fits", 5 * GIB)
    assert (found.needs.timing_range_bytes, found.needs.address_range_bytes) == ((5 * GIB, 6 * GIB), None)
    assert [run.limit_bytes for run in found.runs][1:] == [None]


def test_a_job_without_such_blocks_costs_no_further_run(job: Job) -> None:
    job(DEFERS.replace('trace.write("deferred_free", device=0)', ""))
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


def test_a_job_that_survives_its_upper_end_fits_with_a_warning(job: Job) -> None:
    job(DEFERS)
    found = veritasest.estimate(["train.py"], gpu="h200", memory=5 * GIB + 700 * MIB + CONTEXT)
    assert (found.verdict, len(found.runs)) == ("fits", 3)
    assert [warning for warning in found.warnings if "close to the limit: some runs of this job" in warning]


def test_a_late_run_that_fails_is_said_to_have_failed(job: Job) -> None:
    job(DEFERS.replace("trace.write", "late and sys.exit(9)\ntrace.write", 1))
    found = veritasest.estimate(["train.py"], gpu="h200")
    assert (found.verdict, found.needs.timing_range_bytes) == ("fits", None)
    assert any("depends on kernel timing is not known" in warning for warning in found.warnings)


def test_a_job_whose_addresses_matter_has_a_range_and_no_further_run(job: Job) -> None:
    job(TIE)
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert (found.verdict, found.needs.address_range_bytes, len(found.runs)) == ("fits", (36 * MIB, 60 * MIB), 1)
    assert not any("close to the limit" in warning for warning in found.warnings)


def test_addresses_that_could_reach_the_limit_are_warned_of(job: Job) -> None:
    job(TIE)
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1, memory=50 * MIB + CONTEXT)
    assert found.verdict == "fits"
    assert any("would reserve 60.00 MiB, more than the 50.00 MiB" in warning for warning in found.warnings)


def test_the_report_says_in_one_line_how_far_repeats_move(job: Job) -> None:
    job(DEFERS)
    console = Console(record=True, width=200)
    terminal.render(veritasest.estimate(["train.py"], gpu="h200"), console)
    line = "between 5.00 GiB and 6.00 GiB from run to run: block reuse depends on kernel timing"
    assert line in console.export_text()


def test_both_causes_add_up() -> None:
    needs = Needs(
        comfortable_bytes=100, minimum_bytes=None, timing_range_bytes=(100, 110), address_range_bytes=(95, 103)
    )
    assert needs.repeats_range_bytes == (95, 113)
