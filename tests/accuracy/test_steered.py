"""What an estimate says of a job whose memory depends on values that nobody computed."""

import pytest
from estimating import run_estimate
from joblists import Job
from truth_files import peaks


def test_balanced_routing_is_within_five_percent_and_says_what_it_assumed():
    line = "steered/moe.py --prec bf16"
    estimate = run_estimate(Job(line, "steered"))
    assert estimate["peak"]["reserved_bytes"] == pytest.approx(peaks()[line]["reserved_bytes"], rel=0.05)
    assert {value["how"] for value in estimate["assumed"]} == {"size", "number"}
    assert all(value["file"].endswith("moe.py") and value["line"] for value in estimate["assumed"])
