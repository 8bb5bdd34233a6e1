"""Estimates of two builds, compared row by row with the recorded truth."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_benchmark import write

from benchmarks.estimate import compare

TRUTH = {"a.py": {"reserved_bytes": 100, "allocated_bytes": 90}, "b.py": {"reserved_bytes": 100}}
sizes = st.integers(0, 200)


def row(job: str, reserved: int | None, **more: object) -> dict:
    found = {"kind": "peaks", "job": job, "capacity_gib": None, "verdict": "fits", "reserved_bytes": reserved}
    return found | more


@pytest.fixture
def compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Compares two lists of rows: exit code of the command."""
    monkeypatch.setattr(compare, "recorded_truth", lambda: TRUTH)

    def run(old: list[dict], new: list[dict]) -> int:
        write(tmp_path / "old.jsonl", old)
        write(tmp_path / "new.jsonl", new)
        words = [str(tmp_path / name) for name in ("old.jsonl", "new.jsonl", "changed.txt")]
        return compare.main([words[0], words[1], "--changed", words[2]])

    return run


def test_same_rows_are_no_change_however_long_they_took(compared, capsys: pytest.CaptureFixture[str]) -> None:
    assert compared([row("a.py", 100, seconds=1)], [row("a.py", 100, seconds=9)]) == 0
    said = capsys.readouterr().out
    assert said == "1 rows are the same, 0 changed (none), 0 are new\n0 rows are worse, 0 are missing\n"


@pytest.mark.parametrize(
    ("old", "new", "judgement", "code"),
    [(98, 99, "nearer", 0), (98, 102, "as far", 0), (98, 97, "further", 1), (100, 101, "further", 1)],
)
def test_changed_size_is_judged_by_the_recorded_truth(
    compared, capsys: pytest.CaptureFixture[str], tmp_path: Path, old: int, new: int, judgement: str, code: int
) -> None:
    assert compared([row("a.py", old), row("b.py", 100)], [row("a.py", new), row("b.py", 100)]) == code
    said = capsys.readouterr().out
    assert f"{judgement}: reserved_bytes {old} -> {new}, truth 100 (peaks) a.py" in said
    assert "1 rows are the same, 1 changed" in said
    assert (tmp_path / "changed.txt").read_text() == "a.py\n"


def test_lost_answers_and_other_verdicts_are_worse(compared, capsys: pytest.CaptureFixture[str]) -> None:
    assert compared([row("a.py", 100)], [row("a.py", None)]) == 1
    assert compared([row("a.py", 100)], [row("a.py", 100, verdict="undetermined")]) == 1
    assert compared([row("a.py", 100)], [row("a.py", 100, verdict="does_not_fit")]) == 1
    assert capsys.readouterr().out.count("1 rows are worse") == 3
    assert compared([row("a.py", None, verdict="job_failed")], [row("a.py", 100)]) == 0


def test_row_that_is_missing_counts_and_one_that_is_new_does_not(compared, capsys: pytest.CaptureFixture[str]) -> None:
    assert compared([row("a.py", 100), row("b.py", 100)], [row("a.py", 100)]) == 1
    assert "missing in NEW: (peaks) b.py" in capsys.readouterr().out
    assert compared([row("a.py", 100)], [row("a.py", 100), row("b.py", 100)]) == 0


def test_kinds_that_were_not_estimated_again_are_not_missing(compared) -> None:
    assert compared([row("a.py", 100), row("b.py", 1) | {"kind": "default"}], [row("a.py", 100)]) == 0


def test_what_has_no_truth_is_listed_but_not_worse(compared, capsys: pytest.CaptureFixture[str]) -> None:
    old = row("b.py", 100, process_bytes=120, range_bytes=None, not_reached=[{"file": "/x/b.py", "line": 3}])
    new = row("b.py", 100, process_bytes=121, range_bytes=[90, 110], not_reached=[{"file": "/y/b.py", "line": 3}])
    assert compared([old], [new]) == 0
    said = capsys.readouterr().out
    assert "changed: process_bytes 120 -> 121" in said
    assert "changed: range_bytes None -> [90, 110]" in said
    assert "not_reached" not in said  # the same line, in another folder


def test_nothing_in_common_is_an_error(compared) -> None:
    assert compared([row("a.py", 100)], [row("a.py", 100) | {"kind": "default"}]) == 2


@given(sizes, sizes, sizes)
def test_size_is_never_nearer_in_both_directions(old: int, new: int, truth: int) -> None:
    there, back = compare.judge_size(old, new, truth), compare.judge_size(new, old, truth)
    assert (there, back) in [("nearer", "further"), ("further", "nearer"), ("as far", "as far")]
