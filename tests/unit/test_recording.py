"""The books of the recorder: jobs, limits, shares of the GPU, and the search for the minimum."""

from __future__ import annotations

import itertools
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veritasest import analysis

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import joblists
from bisection import smallest_that_completes
from gpu_runs import PROCESS_BYTES, SPARE_BYTES, Memory, fraction_of, last_error
from second_stage import CAPACITIES_GIB, MINIMUMS, choose, enclosing

H200_BYTES = 150_109_880_320
GIB = 1 << 30


def test_every_listed_line_names_a_script_that_is_there() -> None:
    jobs = joblists.read()
    assert [job.line for job in jobs if not job.script.is_file()] == []
    assert len({job.line for job in jobs}) == len(jobs)


def test_the_papers_protocol_has_its_share() -> None:
    assert len(joblists.read(["papers_cnn"])) >= 240
    assert len(joblists.read(["papers_transformer"])) >= 120
    models = {job.option("--model") for job in joblists.read(["papers_cnn"])}
    assert len(models) == 16


def test_a_line_sets_variables_for_its_job_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64")
    plain = joblists.Job("vision.py --model unet --optimizer muon", "vision")
    line = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True CUBLAS_WORKSPACE_CONFIG=:16:8 vision.py --precision bf16"
    job = joblists.Job(line, "settings")
    assert "PYTORCH_CUDA_ALLOC_CONF" not in plain.environment()
    assert job.environment()["PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True"
    assert job.environment()["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"
    assert (job.script.name, job.precision, job.optimizer) == ("vision.py", "bf16", "the script's own")
    assert (plain.variables, plain.precision, plain.optimizer) == ({}, "fp32", "muon")


@given(st.integers(1 << 20, H200_BYTES), st.integers(0, 100 * GIB))
def test_a_fraction_gives_back_its_limit_to_the_byte(limit: int, less: int) -> None:
    total = max(H200_BYTES - less, limit)
    fraction = fraction_of(limit, total)
    assert int(float(repr(fraction)) * total) == limit


@given(st.lists(st.integers(0, 200 * GIB), min_size=1, max_size=12))
def test_jobs_side_by_side_never_get_more_than_the_gpu_has(needs: list[int]) -> None:
    memory = Memory(H200_BYTES)
    taken, most, lock = 0, 0, threading.Lock()

    def run(need: int) -> None:
        nonlocal taken, most
        with memory.share(need):
            share = min(need + PROCESS_BYTES, H200_BYTES - SPARE_BYTES)
            with lock:
                taken += share
                most = max(most, taken)
            with lock:
                taken -= share

    threads = [threading.Thread(target=run, args=(need,)) for need in needs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
        assert not thread.is_alive()
    assert most <= H200_BYTES - SPARE_BYTES
    assert memory.free_bytes == memory.total_bytes


@given(st.integers(1 << 20, 10**12), st.integers(0, 10**12), st.integers(0, 2**32))
def test_the_gpu_is_searched_by_the_steps_of_the_estimate(low: int, gap: int, chance: int) -> None:
    high = low + gap

    def completes(limit: int) -> bool:  # not monotone: fragmentation can spare a smaller limit
        return hash((limit, chance)) % 3 > 0

    ours = analysis.smallest_that_completes(fails_bytes=low, completes_bytes=high, completes=completes, max_runs=1000)
    failed, least = smallest_that_completes(low, high, completes)
    assert least == ours
    assert failed <= least


@given(st.integers(1, 200 * GIB))
def test_a_verdict_is_asked_on_both_sides_of_the_need(need: int) -> None:
    chosen = enclosing(need)
    assert 1 <= len(chosen) <= 2
    assert set(chosen) <= set(CAPACITIES_GIB)
    if len(chosen) == 2:
        assert chosen[0] * GIB < need <= chosen[1] * GIB


def test_what_the_second_stage_checks_does_not_depend_on_the_estimates() -> None:
    jobs = joblists.drawn(joblists.read())
    peaks = {job.line: 3 * GIB * (1 + len(job.line) % 9) for job in jobs}

    def without_limits(estimates: dict[str, int], available: int) -> list[tuple]:
        chosen = choose(jobs, peaks, estimates, dict.fromkeys(itertools.product(peaks, CAPACITIES_GIB), available))
        return [(row["job"], row["why"], row.get("capacity_gib")) for row in chosen]

    wrong = {line: 7 * peak for line, peak in peaks.items()}
    assert without_limits(peaks, GIB) == without_limits(wrong, 9 * GIB) == without_limits({}, 0)
    kinds = [why for _, why, _ in without_limits({}, 0)]
    assert kinds.count("estimate") >= 150
    assert kinds.count("capacity") >= 150
    assert kinds.count("minimum") >= sum(MINIMUMS.values()) >= 40


def test_the_last_error_of_a_job_is_what_is_kept() -> None:
    said = "Traceback\n  File x\ntorch.OutOfMemoryError: CUDA out of memory. Tried\n[rank0] bye\n"
    assert last_error(said) == "torch.OutOfMemoryError: CUDA out of memory. Tried"
    assert last_error("") == "no message"
