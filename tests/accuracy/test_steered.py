"""Jobs whose memory depends on values, against what was recorded on a real H200.

`benchmarks/accuracy.py --truth steered` compares all of them.
"""

import pytest
from record import estimate_job, listed

RECORDED = {job.name: (job, truth) for job, truth in listed("steered")}


def estimated(name):
    job, truth = RECORDED[name]
    estimate = estimate_job(job)
    return estimate["peak"], truth, estimate["assumed"]


@pytest.mark.parametrize(
    "name",
    [
        "steered/transformer.py --model electra --mask ones --prec fp32",
        "steered/transformer.py --model electra --mask padded --prec bf16",
        "steered/packed_lstm.py --lengths mask --bs 100 --length 80",
        "steered/gnn.py --bs 512 --fanouts 15 10",
        "steered/mlm.py --prec fp32",
    ],
)
def test_what_follows_from_host_data_and_draws_is_exact_and_assumes_nothing(name):
    peak, truth, assumed = estimated(name)
    assert peak["reserved_bytes"] == truth["reserved_bytes"]
    assert peak["allocated_bytes"] == pytest.approx(truth["allocated_bytes"], rel=0.001)
    assert assumed == []


def test_balanced_routing_is_within_five_percent_and_says_what_it_assumed():
    peak, truth, assumed = estimated("steered/moe.py --prec bf16")
    assert peak["reserved_bytes"] == pytest.approx(truth["reserved_bytes"], rel=0.05)
    assert {value["how"] for value in assumed} == {"size", "number"}
    assert all(value["file"].endswith("moe.py") and value["line"] for value in assumed)
