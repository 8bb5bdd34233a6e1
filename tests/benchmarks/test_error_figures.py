"""The figures of the benchmark's summary, on three jobs: no GPU, no torch."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_benchmark import GIB, LISTS, TRUTH, add_estimates, estimate, fill, summary_of, truth, write

from benchmarks.score.benchmark_data import DIMENSIONS
from benchmarks.score.error_figures import errors, nearest_rank
from benchmarks.score.rival_figures import would_work
from benchmarks.score.summary import KEYS

sizes = st.integers(1, 2**40)
pairs = st.lists(st.tuples(st.none() | sizes, sizes))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fill(tmp_path)


@given(pairs)
def test_errors_count_every_job_once_and_shares_are_at_most_one(found: list[tuple[int | None, int]]) -> None:
    error = errors(found)
    assert error["jobs"] == len(found)
    assert error["answered"] == sum(size is not None for size, _ in found)
    if error["answered"]:
        assert 0 <= error["mre_percent"] <= abs(error["worst_percent"])
        assert error["p95_percent"] <= abs(error["worst_percent"])
        assert abs(error["bias_percent"]) <= error["mean_percent"] * (1 + 1e-5)
        assert 0 <= error["under_share"] * error["answered"] / len(found) + error["exact_share"] <= 1 + 1e-5
    assert errors(found[::-1])["mre_percent"] == error["mre_percent"]


@given(st.lists(st.floats(0, 100), min_size=1), st.floats(0, 1))
def test_nearest_rank_is_the_smallest_value_that_covers_the_share(values: list[float], share: float) -> None:
    found = nearest_rank(values, share)
    assert sum(value <= found for value in values) >= share * len(values)
    assert found == min(values) or sum(value < found for value in values) < math.ceil(share * len(values))


def test_error_of_one_byte_is_not_exact() -> None:
    error = errors([(100 * GIB - 1, 100 * GIB)])
    assert (error["exact_share"], error["under_share"]) == (0, 1)
    assert error["worst_percent"] < 0


def test_job_without_an_estimate_has_no_error_and_is_not_exact(folder: Path) -> None:
    reserved = summary_of(folder)["all"]["reserved"]
    assert (reserved["jobs"], reserved["answered"]) == (3, 2)
    assert reserved["mre_percent"] == 1  # median of 0 % and 2 %
    assert reserved["exact_share"] == pytest.approx(1 / 3, abs=1e-5)


@given(sizes, sizes, st.none() | sizes, sizes, sizes)
def test_higher_estimate_of_a_rival_never_works_less(a: int, b: int, minimum: int | None, low: int, high: int) -> None:
    recorded = truth("a.py", reserved=max(a, b), allocated=min(a, b))
    less, more = (would_work(size, recorded, minimum) for size in sorted((low, high)))
    assert more is not False or less is False


@pytest.mark.parametrize(("size", "works"), [(899, False), (900, None), (999, None), (1000, True)])
def test_rival_is_undecided_only_from_the_allocated_to_the_reserved_peak(size: int, works: bool | None) -> None:
    assert would_work(size, truth("a.py", reserved=1000, allocated=900), None) is works


def test_undecided_rival_is_decided_by_the_recorded_minimum_then_by_ours(folder: Path) -> None:
    """Truth: allocated 900, reserved 1000. The rival says 950 for each job."""
    rows = [{"rival": "r", "version": "1", "job": line, "estimate_bytes": 950, "seconds": 1} for line in LISTS]
    write(folder / "results/rivals.jsonl", rows)
    write(folder / f"{TRUTH}_minimum.jsonl", [{"job": "a.py", "minimum_bytes": 960, "failed_bytes": 950}])
    ours = [{"job": "a.py", "minimum_bytes": 940}, {"job": "b.py", "minimum_bytes": 940}]
    add_estimates(folder, "minimum", ours)
    first, rival = summary_of(folder)["rivals"]
    assert (first["rival"], rival["rival"]) == ("VeritasEst", "r")
    assert rival["undecided"] == 1  # c.py has no minimum at all
    assert rival["pef_percent"] == pytest.approx(100 / 3, rel=1e-5)  # a.py: 950 < 960


def test_rival_without_an_answer_is_counted_but_has_no_error(folder: Path) -> None:
    answers = {"a.py": 500, "b.py": None, "not recorded.py": 1}
    rows = [{"rival": "r", "job": job, "estimate_bytes": size, "seconds": 3} for job, size in answers.items()]
    write(folder / "results/rivals.jsonl", rows)
    rival = summary_of(folder)["rivals"][1]
    assert (rival["jobs"], rival["answered"], rival["mre_percent"], rival["bias_percent"]) == (2, 1, 50, -50)
    assert (rival["same_jobs"]["jobs"], rival["same_jobs"]["mre_percent"]) == (1, 0)


def test_groups_contain_every_job_once(folder: Path) -> None:
    summary = summary_of(folder)
    for dimension in DIMENSIONS:
        assert sum(found["recorded"] for found in summary[f"by_{dimension}"].values()) == summary["all"]["recorded"]
    assert summary["by_family"]["cnn"]["reserved"]["worst_percent"] == -2


def test_every_key_of_the_summary_is_documented(folder: Path) -> None:
    assert set(summary_of(folder)) == set(KEYS)


def test_seconds_per_estimate_are_those_of_jobs_estimated_alone(folder: Path) -> None:
    several = {"jobs": 3, "median": 2, "max": 2, "note": "several at a time"}
    assert summary_of(folder)["seconds_per_estimate"] == several
    broken = {"job": "c.py", "verdict": "no answer", "error": "it broke off"}
    sample = [estimate("a.py", 1000, seconds=1), estimate("b.py", 980, seconds=1.5), broken]
    add_estimates(folder, "alone", sample, cpus=2)
    summary = summary_of(folder)
    assert summary["seconds_per_estimate"] == {"jobs": 2, "median": 1.25, "max": 1.5, "note": "one at a time"}
    assert summary["provenance"]["estimates"]["alone"]["cpus"] == 2
    assert summary["all"]["cost"]["seconds_median"] == 2
