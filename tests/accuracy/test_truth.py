"""Estimates against what was recorded on a real H200. `benchmarks/accuracy.py` compares all 44 jobs."""

import json
import subprocess
import sys

import pytest
from record import HERE, TRUTH, estimate_job, find_peaks, minima

from veritasest import trace

SEGMENT_BYTES = 2 * 2**20
OPERATIONS = str(HERE / "jobs" / "ops.py")


def error(estimate: int, truth: int) -> float:
    return abs(estimate - truth) / truth


def estimated_allocations(path):
    """The bytes of every block PyTorch's allocator handed out, in order."""
    sizes = []
    for record in trace.read(path).of(trace.Blocks):
        sizes += [size for action, size in zip(record.actions, record.sizes, strict=True) if action == "a"]
    return sizes


def test_gpt_is_exact_to_the_byte_and_in_every_allocation(tmp_path):
    job, truth = find_peaks("gpt_s", bs=8, opt="adamw", prec="fp32")
    path = tmp_path / "gpt.vest"
    estimate = estimate_job(job, "--trace", str(path))
    assert estimate["peak"]["reserved_bytes"] == truth["reserved_bytes"]
    assert estimate["peak"]["allocated_bytes"] == pytest.approx(truth["allocated_bytes"], rel=0.001)
    recorded = json.loads((TRUTH / "gpt_s_fp32_allocations.json").read_text())["alloc_bytes"]
    assert estimated_allocations(path) == recorded


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("gpt_s", {"opt": "adamw", "prec": "bf16"}),
        ("mlp", {"opt": "adam"}),
        ("mlp", {"opt": "rmsprop", "prec": "fp16"}),
        ("hf:bert", {"prec": "fp32"}),
    ],
)
def test_a_job_without_convolution_is_within_one_segment(model, options):
    job, truth = find_peaks(model, **options)
    peak = estimate_job(job)["peak"]
    assert abs(peak["reserved_bytes"] - truth["reserved_bytes"]) <= SEGMENT_BYTES
    assert error(peak["allocated_bytes"], truth["allocated_bytes"]) <= 0.001


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("resnet50", {"opt": "adam"}),
        ("vgg16", {"bs": 100}),
        ("vit_b_16", {"prec": "bf16"}),
        ("lstm", {"opt": "adam"}),
    ],
)
def test_a_job_with_cudnn_workspaces_is_exact_to_the_byte(model, options):
    job, truth = find_peaks(model, **options)
    peak = estimate_job(job)["peak"]
    assert (peak["allocated_bytes"], peak["reserved_bytes"]) == (truth["allocated_bytes"], truth["reserved_bytes"])


def test_what_libraries_decide_is_exact_operation_by_operation():
    done = subprocess.run(
        [sys.executable, "-m", "veritasest", "run", "--quiet", "--until-exit", "--", sys.executable, OPERATIONS],
        capture_output=True,
        text=True,
        check=True,
    )
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    recorded = [json.loads(line) for line in (TRUTH / "h200_ops.jsonl").read_text().splitlines()[1:]]
    # A transform along strided dimensions is the one whose work area is only bounded; see native/cufft.c.
    off = [ours["operation"] for ours, truth in zip(found, recorded, strict=True) if ours != truth]
    assert off == ["fftn strided"]


def test_the_minimum_of_a_gpt_is_within_one_percent():
    job, truth = next((job, truth) for job, truth in minima() if job.model == "gpt_s")
    estimate = estimate_job(job, "--minimum")
    assert error(estimate["needs"]["minimum_bytes"], truth["minimum_bytes"]) <= 0.01
    assert len(estimate["runs"]) <= 1 + 8
