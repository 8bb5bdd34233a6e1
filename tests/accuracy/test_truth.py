"""Estimates against what was recorded on a real H200: the sequences behind the peaks, single operations, the minimum.

`test_regression.py` compares the peaks of some recorded jobs, `make benchmark` those of all.
"""

import json
import subprocess
import sys

from allocations import events_of, only
from estimating import run_estimate
from joblists import JOBS, Job
from truth_files import TRUTH, minima, peaks

MIB = 2**20
WORKSPACES = TRUTH.parent / "workspaces"


def test_gpt_is_exact_in_every_allocation(tmp_path):
    line = "truth_job.py --model gpt_s --bs 8 --opt adamw --prec fp32 --zg before"
    path = tmp_path / "gpt.vest"
    peak = run_estimate(Job(line, "first"), "--trace", str(path))["peak"]
    assert peak["reserved_bytes"] == peaks()[line]["reserved_bytes"]
    recorded = json.loads((TRUTH / "gpt_s_fp32_allocations.json").read_text())["alloc_bytes"]
    assert [size for _, _, size in only("a", *events_of(path))] == recorded


def said_on_the_emulated_device(script):
    """What the script prints as JSON lines."""
    words = [sys.executable, "-m", "veritasest", "run", "--quiet", "--until-exit", "--", sys.executable, str(script)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_what_libraries_take_for_themselves_is_booked_step_by_step():
    found = said_on_the_emulated_device(WORKSPACES / "record_libraries.py")
    recorded = [json.loads(line) for line in (WORKSPACES / "truth/h200_libraries.jsonl").read_text().splitlines()]
    assert found[0] == recorded[0]
    for ours, truth in zip(found[1:], recorded[1:], strict=True):
        assert ours["after"] == truth["after"]
        assert 0 <= ours["outside_bytes"] - truth["outside_bytes"] <= 10 * MIB, ours["after"]


def test_what_libraries_decide_is_exact_operation_by_operation():
    found = said_on_the_emulated_device(JOBS / "ops.py")
    recorded = [json.loads(line) for line in (TRUTH / "h200_ops.jsonl").read_text().splitlines()[1:]]
    # A transform along strided dimensions is the one whose work area is only bounded; see native/cufft/.
    off = [ours["operation"] for ours, truth in zip(found, recorded, strict=True) if ours != truth]
    assert off == ["fftn strided"]


def test_the_minimum_of_a_gpt_is_within_one_percent():
    line = "truth_job.py --model gpt_s --bs 16 --opt adafactor --prec fp32 --zg before"
    estimate = run_estimate(Job(line, "first"), "--minimum")
    assert -0.005 <= estimate["needs"]["minimum_bytes"] / minima()[line]["minimum_bytes"] - 1 <= 0.01
    assert len(estimate["runs"]) <= 1 + 8
