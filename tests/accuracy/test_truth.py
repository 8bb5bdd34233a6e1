"""Estimates against what was recorded on a real H200: the sequences behind the peaks, single operations, the minimum.

`test_regression.py` compares the peaks of some recorded jobs, `make benchmark` those of all.
"""

import json
import subprocess
import sys

from benchmarks.estimate import fields
from benchmarks.estimate.allocation_sequences import events_of, only
from benchmarks.estimate.one_job import run_estimate
from benchmarks.job_lists import JOBS, Job
from benchmarks.truth_files import TRUTH, minima, peaks

MIB = 2**20
WORKSPACES = TRUTH.parent / "workspaces"


def test_gpt_is_exact_in_every_allocation(tmp_path):
    line = "truth_job.py --model gpt_s --bs 8 --opt adamw --prec fp32 --zg before"
    estimate = run_estimate(Job(line, "first"), "--save", str(tmp_path / "gpt"))
    assert fields.peak_reserved_bytes(estimate) == peaks()[line]["reserved_bytes"]
    recorded = json.loads((TRUTH / "gpt_s_fp32_allocations.json").read_text())["alloc_bytes"]
    assert [size for _, _, size in only("a", *events_of(tmp_path / "gpt"))] == recorded


def printed_on_the_emulated_device(script):
    """The JSON lines that the script prints."""
    words = [sys.executable, "-m", "veritasest", "run", "--quiet", "--until-exit", "--", sys.executable, str(script)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_library_overhead_is_within_10_mib_after_every_step():
    found = printed_on_the_emulated_device(WORKSPACES / "record_libraries.py")
    recorded = [json.loads(line) for line in (WORKSPACES / "truth/h200_libraries.jsonl").read_text().splitlines()]
    assert found[0] == recorded[0]
    for ours, truth in zip(found[1:], recorded[1:], strict=True):
        assert ours["after"] == truth["after"]
        assert 0 <= ours["outside_bytes"] - truth["outside_bytes"] <= 10 * MIB, ours["after"]


def test_operations_whose_memory_a_library_decides_are_exact():
    found = printed_on_the_emulated_device(JOBS / "ops.py")
    recorded = [json.loads(line) for line in (TRUTH / "h200_ops.jsonl").read_text().splitlines()[1:]]
    # The work area of a transform along strided dimensions is only bounded; see cuFFT in native/.
    off = [ours["operation"] for ours, truth in zip(found, recorded, strict=True) if ours != truth]
    assert off == ["fftn strided"]


def test_minimum_capacity_of_a_gpt_is_within_one_percent():
    line = "truth_job.py --model gpt_s --bs 16 --opt adafactor --prec fp32 --zg before"
    estimate = run_estimate(Job(line, "first"), "--minimum")
    assert -0.005 <= fields.minimum_bytes(estimate) / minima()[line]["minimum_bytes"] - 1 <= 0.01
    assert fields.number_of_runs(estimate) <= 1 + 8
