"""What limited runs on the GPU say about the present estimates."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_benchmark import GIB, LISTS, TRUTH, add_estimates, fill, summary_of, write

from benchmarks.score.second_stage_checks import classify_runs, rerun_outcome, verdict_outcome
from benchmarks.score.summary import failures

limit_rows = st.lists(
    st.fixed_dictionaries(
        {
            "job": st.sampled_from(list(LISTS)),
            "why": st.sampled_from(["estimate", "capacity"]),
            "limit_bytes": st.integers(1, 5),
            "capacity_gib": st.sampled_from([8, 12]),
            "predicted": st.sampled_from(["fits", "does_not_fit", None]),
            "completed": st.booleans(),
            "out_of_memory": st.booleans(),
        }
    )
)


@given(limit_rows, st.none() | st.integers(1, 5))
def test_every_check_of_the_second_stage_works_fails_or_is_void(rows: list[dict], present: int | None) -> None:
    checks = classify_runs(rows, dict.fromkeys(LISTS, present), 10)
    reruns = {row["job"] for row in rows if row["why"] == "estimate"}
    verdicts = {(row["job"], row["capacity_gib"]) for row in rows if row["why"] == "capacity"}
    found = failures(checks)
    assert found["checks"] + found["void"] == len(reruns) + len(verdicts)
    if found["checks"]:
        assert found["pef_percent"] == pytest.approx(100 * found["failed"] / found["checks"], rel=1e-5)
        assert -5 <= found["mcp_bytes"] <= 10
    parts = [failures([check for check in checks if check.kind == kind]) for kind in ("rerun", "verdict")]
    assert sum(part["failed"] for part in parts) == found["failed"]


@pytest.mark.parametrize(
    ("completed", "limit", "present", "outcome"),
    [
        (True, 5, 5, ("works", 95)),  # capacity 100 - estimate 5
        (False, 5, 5, ("fails", -5)),
        (True, 5, 6, ("works", 95)),  # more than a limit that was enough
        (False, 5, 4, ("fails", -5)),  # less than a limit that was not
        (True, 5, 4, ("void", 0)),
        (False, 5, 6, ("void", 0)),
        (False, 5, None, ("fails", -5)),
    ],
)
def test_rerun_at_another_limit_counts_only_where_the_result_follows(
    completed: bool, limit: int, present: int | None, outcome: tuple[str, int]
) -> None:
    row = {"limit_bytes": limit, "completed": completed, "out_of_memory": False}
    assert rerun_outcome(row, present, 100) == outcome


@pytest.mark.parametrize(
    ("predicted", "completed", "out_of_memory", "outcome"),
    [
        ("fits", True, False, ("works", 3)),  # capacity 8 - estimate 5
        ("fits", False, True, ("fails", -5)),
        ("fits", False, False, ("fails", -5)),
        ("does_not_fit", False, True, ("works", 8)),
        ("does_not_fit", False, False, ("void", 0)),
        ("does_not_fit", True, False, ("fails", -5)),
        ("failed", True, False, ("fails", -5)),
        (None, True, False, ("void", 0)),
    ],
)
def test_verdict_is_correct_only_for_the_reason_it_gave(
    predicted: str | None, completed: bool, out_of_memory: bool, outcome: tuple[str, int]
) -> None:
    row = {"limit_bytes": 8, "predicted": predicted, "completed": completed, "out_of_memory": out_of_memory}
    assert verdict_outcome(row, 5) == outcome


def test_estimate_above_the_capacity_counts_as_equal_to_it() -> None:
    row = {"limit_bytes": 8, "predicted": "fits", "completed": True}
    assert verdict_outcome(row, 9) == ("works", 0)
    assert verdict_outcome(row | {"completed": False}, 9) == ("fails", -8)


def test_rerun_at_the_present_estimate_counts_before_the_last_one() -> None:
    rows = [{"job": "a.py", "why": "estimate", "limit_bytes": limit, "completed": False} for limit in (5, 6, 7)]
    for present, counted in [(6, 6), (8, 7), (None, 7)]:
        (check,) = classify_runs(rows, {"a.py": present}, 100)
        assert check.row["limit_bytes"] == counted


def test_verdict_is_the_one_predicted_now(tmp_path: Path) -> None:
    row = {"job": "a.py", "why": "capacity", "capacity_gib": 8, "limit_bytes": 8 * GIB, "completed": True}
    cases = [("does_not_fit", 8, (1, 1, 0)), ("fits", 8, (1, 0, 0)), ("fits", 7, (0, 0, 1)), (None, 8, (0, 0, 1))]
    for predicted, gib, outcomes in cases:
        found = {"job": "a.py", "capacity_gib": 8, "available_bytes": gib * GIB, "verdict": predicted}
        folder = fill(tmp_path / f"{predicted}-{gib}")
        write(folder / f"{TRUTH}_limits.jsonl", [row])
        add_estimates(folder, "capacity", [found] if predicted else [])
        verdicts = summary_of(folder)["second_stage"]["verdicts"]
        assert tuple(verdicts[key] for key in ("checks", "failed", "void")) == outcomes


def test_job_that_fails_or_retries_on_a_full_gpu_is_under_memory_pressure(tmp_path: Path) -> None:
    folder = fill(tmp_path)
    well = {"job": "a.py", "short_bytes": 0, "completed": True, "allocator_retries": 0}
    again = {**well, "short_bytes": 32 << 20, "allocator_retries": 1}
    write(folder / f"{TRUTH}_filled.jsonl", [well, again, {**again, "completed": False, "allocator_retries": 0}])
    enough, short = summary_of(folder)["filled"]
    assert enough == {"short_mib": 0, "runs": 1, "under_pressure": 0}
    assert short == {"short_mib": 32, "runs": 2, "under_pressure": 2}


def test_gpu_is_compared_with_itself_only_without_memory_pressure(tmp_path: Path) -> None:
    folder = fill(tmp_path)  # every job's recorded peak is 1000
    run = {"why": "capacity", "capacity_gib": 1, "completed": True, "out_of_memory": False}
    limited = {**run, "job": "a.py", "limit_bytes": 999, "reserved_bytes": 990}
    same = {**run, "job": "b.py", "limit_bytes": 1000, "reserved_bytes": 1000}
    other = {**run, "job": "c.py", "limit_bytes": 2000, "reserved_bytes": 980}
    tried_again = {**other, "capacity_gib": 2, "allocator_retries": 1}
    write(folder / f"{TRUTH}_limits.jsonl", [limited, same, other, tried_again])
    found = summary_of(folder)["repeats"]
    assert (found["jobs"], found["exact_share"], found["worst_percent"]) == (2, 0.5, -2)
