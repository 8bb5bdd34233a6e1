"""Results of a benchmark that may be interrupted, and go on with another build."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import store
from store import Store


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One result of an old build and one of the present one."""
    path = tmp_path / "results.jsonl"
    monkeypatch.setattr(store, "fingerprint", lambda: "old")
    Store(path, ("job",)).add({"job": "a.py", "bytes": 1})
    monkeypatch.setattr(store, "fingerprint", lambda: "new")
    Store(path, ("job",)).add({"job": "b.py", "bytes": 2})
    return path


def test_old_results_stay_until_there_are_new_ones(results: Path) -> None:
    found = Store(results, ("job",))
    assert (found.is_done(("a.py",)), found.is_done(("b.py",)), found.is_done(("c.py",))) == (False, True, False)
    found.add({"job": "a.py", "bytes": 3})
    assert found.is_done(("a.py",))
    last = {row["job"]: row for row in map(json.loads, results.read_text().splitlines()) if "job" in row}
    assert [(row["bytes"], row["build"]) for row in last.values()] == [(3, "new"), (2, "new")]


def test_old_results_can_be_taken_for_good_and_all_can_be_forgotten(results: Path) -> None:
    assert Store(results, ("job",), keep=True).is_done(("a.py",))
    assert Store(results, ("job",), keep=True, fresh=True).rows == {}
