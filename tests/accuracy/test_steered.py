"""A job whose memory depends on values that are not computed."""

import pytest

from benchmarks.estimate.fields import assumed_values, peak_reserved_bytes
from benchmarks.estimate.one_job import run_estimate
from benchmarks.job_lists import Job
from benchmarks.truth_files import peaks


def test_balanced_routing_is_within_five_percent_and_reports_what_it_assumed():
    line = "steered/moe.py --prec bf16"
    estimate = run_estimate(Job(line, "steered"))
    assert peak_reserved_bytes(estimate) == pytest.approx(peaks()[line]["reserved_bytes"], rel=0.05)
    assumed = assumed_values(estimate)
    assert {value["how"] for value in assumed} == {"size", "number"}
    assert all(value["file"].endswith("moe.py") and value["line"] for value in assumed)
