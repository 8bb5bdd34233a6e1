"""Recording the truth: jobs, limits, shares of the GPU's memory, and the search for the minimum capacity."""

from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import job_lists
from benchmarks.record import truth
from benchmarks.record.gpu_runs import (
    PROCESS_BYTES,
    SPARE_BYTES,
    DeadlinePassed,
    Gpu,
    Memory,
    fraction_of,
    largest_peaks,
    last_error,
)
from benchmarks.record.merge import merge
from benchmarks.record.second_stage import CAPACITIES_GIB, MINIMUMS, choose, enclosing
from benchmarks.record.truth import Recorder
from benchmarks.repeated_jobs import PARTS, RUNS, read_repeated_jobs

H200_BYTES = 150_109_880_320
GIB = 1 << 30
TOLERANCE = 0.0025  # of the search, as `--minimum` has it


def test_every_listed_line_names_an_existing_script() -> None:
    jobs = job_lists.read()
    assert [job.line for job in jobs if not job.script.is_file()] == []
    assert len({job.line for job in jobs}) == len(jobs)


def test_protocols_of_the_papers_are_listed() -> None:
    assert len(job_lists.read(["papers_cnn"])) >= 240
    assert len(job_lists.read(["papers_transformer"])) >= 120
    models = {job.option("--model") for job in job_lists.read(["papers_cnn"])}
    assert len(models) == 16


def test_variables_of_a_line_apply_to_its_job_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64")
    plain = job_lists.Job("vision.py --model unet --optimizer muon", "vision")
    line = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True CUBLAS_WORKSPACE_CONFIG=:16:8 vision.py --precision bf16"
    job = job_lists.Job(line, "settings")
    assert "PYTORCH_CUDA_ALLOC_CONF" not in plain.environment()
    assert job.environment()["PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True"
    assert job.environment()["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"
    assert (job.script.name, job.precision, job.optimizer) == ("vision.py", "bf16", "the script's own")
    assert (plain.variables, plain.precision, plain.optimizer) == ({}, "fp32", "muon")


@given(st.integers(1 << 20, H200_BYTES), st.integers(0, 100 * GIB))
def test_fraction_gives_its_limit_to_the_byte(limit: int, less: int) -> None:
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


@given(st.integers(1 << 20, 50 * GIB), st.integers(0, 50 * GIB), st.integers(0, 2**32))
def test_minimum_is_bracketed_by_a_failed_and_a_completed_trial(low: int, gap: int, chance: int) -> None:
    """Not monotone: with another fragmentation a smaller limit can be enough."""
    limits: list[int] = []

    class Searched(StandInGpu):
        def run(self, _job: job_lists.Job, _expected_bytes: int, limit_bytes: int | None = None) -> dict:
            limits.append(limit_bytes)
            return {"completed": hash((limit_bytes, chance)) % 3 > 0}

    recorder = Recorder(Searched(), FACTS, Path("no such folder"))
    line = job_lists.read(["life"])[0].line
    row = recorder._minimum(line, {"allocated_bytes": low, "reserved_bytes": low + gap})
    completed = [limit for limit, worked in row["trials"] if worked]
    failed = [limit for limit, worked in row["trials"] if not worked]
    assert row["minimum_bytes"] == min(completed, default=low + gap)
    assert row["failed_bytes"] == max(failed, default=low) <= row["minimum_bytes"]
    assert row["minimum_bytes"] - row["failed_bytes"] <= TOLERANCE * row["minimum_bytes"]
    assert [limit for limit, _ in row["trials"]] == limits


@given(st.integers(1, 200 * GIB))
def test_capacities_enclose_the_need(need: int) -> None:
    chosen = enclosing(need)
    assert 1 <= len(chosen) <= 2
    assert set(chosen) <= set(CAPACITIES_GIB)
    if len(chosen) == 2:
        assert chosen[0] * GIB < need <= chosen[1] * GIB


def test_choice_of_checks_does_not_depend_on_the_estimates() -> None:
    jobs = job_lists.in_hash_order(job_lists.read())
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


def test_last_error_of_a_job_is_kept() -> None:
    said = "Traceback\n  File x\ntorch.OutOfMemoryError: CUDA out of memory. Tried\n[rank0] bye\n"
    assert last_error(said) == "torch.OutOfMemoryError: CUDA out of memory. Tried"
    assert last_error("") == "no message"


class StandInGpu(Gpu):
    """Answers without a GPU, and remembers the memory each job was given."""

    def __init__(self, *answers: dict) -> None:
        self.total_bytes, self.answers, self.expected = H200_BYTES, list(answers), []

    def run(self, _job: job_lists.Job, expected_bytes: int, _limit_bytes: int | None = None) -> dict:
        self.expected.append(expected_bytes)
        return self.answers.pop(0)


FACTS = {"recording": "now", "gpu": "NVIDIA H200", "torch": "2.11.0+cu130"}


def test_repeated_jobs_are_listed_and_split_in_two_halves() -> None:
    parts = read_repeated_jobs()
    assert set(parts) <= {job.line for job in job_lists.read()}
    assert len(parts) >= 60
    counts = [list(parts.values()).count(part) for part in PARTS]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("text", ["a.py\n", "[fit]\na.py\n[test]\na.py\n", "[other]\n"])
def test_repeated_job_is_in_one_known_part_only(tmp_path: Path, text: str) -> None:
    (tmp_path / "repeats.txt").write_text(text)
    with pytest.raises(SystemExit, match=r"repeats\.txt"):
        read_repeated_jobs(tmp_path / "repeats.txt")


def test_recorded_run_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(truth, "TRUTH", tmp_path / "nothing recorded")
    done = next(iter(read_repeated_jobs()))
    (tmp_path / "h200_torch2.11.0_cu130_repeats.jsonl").write_text(json.dumps({"job": done, "run": 1}) + "\n")
    fresh = list(Recorder(StandInGpu(), FACTS, tmp_path / "empty").repeats(None))
    left = list(Recorder(StandInGpu(), FACTS, tmp_path).repeats(None))
    assert len(fresh) - len(left) == 1
    assert len(fresh) <= RUNS * len(read_repeated_jobs())


@pytest.mark.parametrize(
    ("row", "runs"),
    [
        ({"completed": True, "reserved_bytes": GIB, "allocator_retries": 0}, 1),
        ({"completed": True, "reserved_bytes": GIB, "allocator_retries": 2}, 1),  # a limit that the job set itself
        ({"completed": True, "reserved_bytes": 11 * GIB, "allocator_retries": 2}, 2),
        ({"completed": False, "out_of_memory": True}, 2),
    ],
)
def test_job_runs_alone_only_if_others_may_have_caused_memory_pressure(tmp_path: Path, row: dict, runs: int) -> None:
    gpu = StandInGpu(row, {"completed": True, "reserved_bytes": 12 * GIB})
    recorder = Recorder(gpu, FACTS, tmp_path)
    recorder.needs = {}
    recorder._peaks(job_lists.read(["life"])[0])
    assert len(gpu.expected) == runs
    assert gpu.expected[1:] == [H200_BYTES] * (runs - 1)


def test_no_run_starts_after_the_deadline() -> None:
    gpu = Gpu.__new__(Gpu)
    gpu._last_start = -1.0
    with pytest.raises(DeadlinePassed, match="deadline"):
        gpu.run(job_lists.read(["life"])[0], GIB)


def test_peaks_are_those_of_the_process_that_reserved_most(tmp_path: Path) -> None:
    assert largest_peaks(tmp_path) == {}
    for number, reserved in enumerate((5, 9, 7)):
        (tmp_path / f"peaks-{number}.json").write_text(json.dumps({"reserved_bytes": reserved}))
    assert largest_peaks(tmp_path) == {"reserved_bytes": 9, "processes": 3}


def test_merging_adds_each_row_once_with_its_header(tmp_path: Path) -> None:
    source, target = tmp_path / "source.jsonl", tmp_path / "target.jsonl"
    header, other = {"recording": "r1", "gpu": "g"}, {"recording": "r2", "gpu": "g"}
    runs = [{"job": "a.py", "run": run, "recording": "r1", "completed": True} for run in (1, 2)]
    failed = {"job": "b.py", "run": 1, "recording": "r2", "completed": False}
    source.write_text("".join(json.dumps(row) + "\n" for row in [header, *runs, other, failed]))
    target.write_text(json.dumps(runs[0]) + "\n")
    assert merge(source, target, drop_failed=True) == 1
    assert [json.loads(line) for line in target.read_text().splitlines()] == [runs[0], header, runs[1]]
    assert merge(source, target) == 1
    assert merge(source, target) == 0
