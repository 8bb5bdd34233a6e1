"""A few of the recorded jobs from every family: no estimate may be further from the truth than at the last release.

`regression.jsonl` holds the jobs and the error, in percent of the reserved peak, that each had then.
"""

import json
from pathlib import Path

import pytest

from benchmarks.estimate import fields
from benchmarks.estimate.one_job import run_estimate
from benchmarks.job_lists import Job
from benchmarks.truth_files import peaks

RELEASED = [json.loads(line) for line in (Path(__file__).parent / "regression.jsonl").read_text().splitlines()]
TRUTH = peaks()


@pytest.mark.parametrize("released", RELEASED, ids=lambda released: released["job"])
def test_no_estimate_is_worse_than_at_the_last_release(released):
    truth = TRUTH[released["job"]]
    estimate = run_estimate(Job(released["job"], "regression"))
    assert fields.verdict(estimate) == "fits"
    error = 100 * (fields.peak_reserved_bytes(estimate) / truth["reserved_bytes"] - 1)
    assert abs(error) <= abs(released["reserved_error_percent"]) + 1e-4  # the file's own rounding
    allocated = 100 * (fields.peak_allocated_bytes(estimate) / truth["allocated_bytes"] - 1)
    assert abs(allocated) <= abs(released["allocated_error_percent"]) + 0.01  # ties in best-fit change a few blocks
