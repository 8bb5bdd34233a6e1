"""The default options against the whole job, and ranges against repeated runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_benchmark import GIB, TRUTH, add_estimates, estimate, fill, page_of, summary_of, write

from benchmarks.score.default_options import bounds

REPEATS = f"{TRUTH}_repeats.jsonl"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Truth: 1000 reserved for each job; `--until-exit` estimates 1000, 980 and nothing, in 2 s each."""
    return fill(tmp_path)


def default(job: str, reserved: int | None, **more: object) -> dict:
    return estimate(job, reserved, seconds=3) | more


def runs(job: str, *sizes: int, **more: object) -> list[dict]:
    """Of one job, with its reserved bytes."""
    row = {"job": job, "completed": True, "allocator_retries": 0}
    return [row | {"run": run, "reserved_bytes": size} | more for run, size in enumerate(sizes, 1)]


def test_default_options_are_not_recorded_before_they_are_estimated(folder: Path) -> None:
    summary = summary_of(folder)
    assert summary["default"]["all"]["jobs"] == 0
    assert {target["name"]: target["met"] for target in summary["targets"]}["default options: strict PEF"] is None
    assert "## Default options against the whole job" in page_of(folder)


def test_default_options_are_compared_with_until_exit_on_the_same_jobs(folder: Path) -> None:
    add_estimates(folder, "default", [default("a.py", 1000), default("b.py", 990)])
    found = summary_of(folder)["default"]["all"]
    assert (found["jobs"], found["exact_share"], found["worst_percent"]) == (2, 0.5, -1)
    assert (found["until_exit"]["jobs"], found["until_exit"]["worst_percent"]) == (2, -2)
    assert found["seconds_ratio"] == 1.5  # 3 s and 2 s
    assert found["pef_percent"] == 50  # 990 of 1000


def test_too_low_is_unreported_only_if_nothing_was_reported_as_not_reached(folder: Path) -> None:
    """Truth 1000: 981 is within 2 %, 979 and 500 are not."""
    named = default("c.py", 500, not_reached=[{"what": "if step % 9 == 0", "file": "/x/c.py", "line": 7}])
    add_estimates(folder, "default", [default("a.py", 981), default("b.py", 979, not_reached=[]), named])
    found = summary_of(folder)["default"]["all"]
    assert (found["too_low"], found["too_low_unnamed"], found["not_reached_named"]) == (2, 1, 1)
    page = page_of(folder)
    assert "| `c.py` | language | -50.000 % | 500 | 1000 | if step % 9 == 0 (c.py:7) |" in page
    assert "| `b.py` | cnn | -2.100 % | 979 | 1000 | - |" in page
    assert "| `a.py` | cnn | -1.900 % |" not in page.split("more than 2 % too low")[1].split("##")[0]


@pytest.mark.parametrize(("upper", "unnamed"), [(1000, 0), (981, 0), (979, 1)])
def test_too_low_with_a_range_that_includes_the_truth_is_reported(folder: Path, upper: int, unnamed: int) -> None:
    add_estimates(folder, "default", [default("a.py", 950, address_range_bytes=[950, upper])])
    found = summary_of(folder)["default"]["all"]
    assert (found["too_low"], found["too_low_unnamed"]) == (1, unnamed)


@pytest.mark.parametrize(("verdict", "undetermined"), [("undetermined", 1), ("job_failed", 0)])
def test_undetermined_and_failed_jobs_are_neither_answers_nor_errors(
    folder: Path, verdict: str, undetermined: int
) -> None:
    add_estimates(folder, "default", [default("a.py", 10, verdict=verdict), default("b.py", 1000)])
    found = summary_of(folder)["default"]["all"]
    assert (found["jobs"], found["answered"], found["undetermined"]) == (2, 1, undetermined)
    assert (found["too_low"], found["pef_percent"], found["exact_share"]) == (0, 0, 0.5)


def test_second_pef_uses_the_upper_end_of_ranges(folder: Path) -> None:
    add_estimates(folder, "default", [default("a.py", 990, timing_range_bytes=[990, 1010]), default("b.py", 990)])
    found = summary_of(folder)["default"]["all"]
    assert (found["pef_percent"], found["pef_upper_percent"]) == (100, 50)


def test_second_stage_reruns_are_compared_with_the_default_estimate(folder: Path) -> None:
    """Limited to 980 the job failed: an estimate of 970 fails too, one of 1000 is not decided."""
    limit = {"job": "b.py", "why": "estimate", "limit_bytes": 980, "completed": False, "out_of_memory": True}
    write(folder / f"{TRUTH}_limits.jsonl", [limit])
    add_estimates(folder, "default", [default("b.py", 970)])
    assert summary_of(folder)["default"]["reruns"] == {"checks": 1, "failed": 1, "pef_percent": 100}
    add_estimates(folder, "default", [default("b.py", 1000)])
    assert summary_of(folder)["default"]["reruns"]["checks"] == 0


def test_held_out_scripts_are_scored_separately(folder: Path) -> None:
    (folder / "jobs").mkdir()
    (folder / "jobs/split.json").write_text(json.dumps({"unseen": ["b.py"], "studied": ["a.py"]}))
    add_estimates(folder, "default", [default("a.py", 500), default("b.py", 1000)])
    found = summary_of(folder)["default"]
    assert (found["unseen"]["jobs"], found["unseen"]["exact_share"], found["all"]["exact_share"]) == (1, 1, 0.5)


def test_run_is_covered_inside_the_range_or_equal_to_the_estimate(folder: Path) -> None:
    """a.py varies inside its range; b.py varies and has none, so one run of two is covered."""
    (folder / "repeats.txt").write_text("[fit]\na.py\n[test]\nb.py\n")
    write(folder / REPEATS, [*runs("a.py", 1000, 1050), *runs("b.py", 1000, 1100)])
    add_estimates(folder, "default", [default("a.py", 1000, timing_range_bytes=[1000, 1080]), default("b.py", 1000)])
    found = summary_of(folder)["ranges"]
    assert (found["fit"]["covered_share"], found["test"]["covered_share"], found["all"]["covered_share"]) == (
        1,
        0.5,
        0.75,
    )
    assert (found["fit"]["width_median_percent"], found["fit"]["spread_median_percent"]) == (8, 5)
    assert (found["test"]["moved_without_range"], found["all"]["with_range"]) == (1, 1)
    assert "| `b.py` | test | 1000 | 1000 | 1000 1100 |" in page_of(folder)


def test_failed_unlisted_and_retried_runs_do_not_count(folder: Path) -> None:
    (folder / "repeats.txt").write_text("[fit]\na.py\n")
    retried, failed = runs("a.py", 900, allocator_retries=1), runs("a.py", 900, completed=False)
    write(folder / REPEATS, [*retried, *failed, *runs("b.py", 900), *runs("a.py", 1000)])
    found = summary_of(folder)["ranges"]["all"]
    assert (found["jobs"], found["runs"], found["covered_share"]) == (1, 1, 1)


def test_runs_are_compared_with_until_exit_where_the_default_is_missing(folder: Path) -> None:
    (folder / "repeats.txt").write_text("[fit]\na.py\n[test]\nb.py\n")
    write(folder / REPEATS, [*runs("a.py", 1000), *runs("b.py", 1000)])
    assert summary_of(folder)["ranges"]["all"]["covered_share"] == 0.5  # 1000 and 980


sizes = st.integers(1, 100 * GIB)
spans = st.none() | st.tuples(sizes, sizes).map(sorted)


@given(sizes, spans, spans)
def test_bounds_include_the_point_and_both_ranges(point: int, timing: list | None, address: list | None) -> None:
    row = {"verdict": "fits", "reserved_bytes": point, "timing_range_bytes": timing, "address_range_bytes": address}
    low, high = bounds(row)
    assert low <= point <= high
    if not (timing and address):  # together they add up
        assert {low, high} <= {point, *(timing or ()), *(address or ())}
    assert all(low <= end <= high for span in (timing, address) for end in span or ())
