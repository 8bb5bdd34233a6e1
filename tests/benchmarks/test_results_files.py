"""Results of an evaluation that may be interrupted, and their publication."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import provenance
from benchmarks.estimate import publish
from benchmarks.estimate.results_file import ResultsFile
from benchmarks.estimate.tasks import Task
from benchmarks.job_lists import Job
from benchmarks.json_lines import read_lines, rows
from benchmarks.published_estimates import read_estimates, read_provenance

CLEAN = {"commit": "0123abc", "build": "new"}


def row(job: str, size: int = 1) -> dict:
    return {"job": job, "capacity_gib": None, "verdict": "fits", "reserved_bytes": size}


def results_of(path: Path, rows: list[dict], kind: str = "peaks", **labels: str) -> ResultsFile:
    file = ResultsFile(path, kind, CLEAN | labels)
    for found in rows:
        file.add(found)
    return file


def test_evaluation_continues_with_what_is_left(tmp_path: Path) -> None:
    results_of(tmp_path / "r.jsonl", [row("a.py")])
    again = results_of(tmp_path / "r.jsonl", [])
    assert (again.is_done(("a.py", None)), again.is_done(("b.py", None))) == (True, False)


@pytest.mark.parametrize("other", [{"build": "old"}, {"commit": "4567def"}])
def test_rows_of_another_build_are_made_again(tmp_path: Path, other: dict[str, str]) -> None:
    results_of(tmp_path / "r.jsonl", [row("a.py", 1)], **other)
    file = results_of(tmp_path / "r.jsonl", [])
    assert not file.is_done(("a.py", None))
    file.add(row("a.py", 2))
    assert file.is_done(("a.py", None))
    assert [found["reserved_bytes"] for found in rows(tmp_path / "r.jsonl")] == [1, 2]


def test_publishing_replaces_the_rows_of_its_kind_only(tmp_path: Path) -> None:
    results_of(tmp_path / "default.jsonl", [row("a.py", 7)], kind="default")
    results_of(tmp_path / "old.jsonl", [row("a.py", 1), row("b.py", 1)])
    results_of(tmp_path / "new.jsonl", [row("b.py", 2), row("a.py", 2)], commit="4567def")
    results = tmp_path / "results"
    for name in ("default", "old", "new"):
        assert publish.main([str(tmp_path / f"{name}.jsonl")], results) == 0
    assert [(found["job"], found["reserved_bytes"]) for found in read_estimates("peaks", results)] == [
        ("a.py", 2),
        ("b.py", 2),
    ]
    assert read_provenance("peaks", results)["commit"] == "4567def"
    assert [found["reserved_bytes"] for found in read_estimates("default", results)] == [7]
    assert len(read_lines(results / "estimates.jsonl")) == 2 + 3  # a header per kind, and three rows


@pytest.mark.parametrize(
    ("commits", "reason"),
    [
        (["0123abc-dirty"], "not from a clean commit: 0123abc-dirty"),
        (["0123abc", "4567def"], "from several commits: 0123abc, 4567def"),
    ],
)
def test_rows_without_one_clean_commit_are_not_published(tmp_path: Path, commits: list[str], reason: str) -> None:
    for number, commit in enumerate(commits):
        results_of(tmp_path / "r.jsonl", [row(f"{number}.py")], commit=commit)
    with pytest.raises(SystemExit, match=reason):
        publish.main([str(tmp_path / "r.jsonl")], tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_incomplete_evaluation_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """b.py and c.py are missing, but c.py is no longer listed."""
    listed = [Task(Job(line, "tests")) for line in ("a.py", "b.py")]
    monkeypatch.setattr(publish, "tasks_of", lambda _: listed)
    results_of(tmp_path / "all.jsonl", [row("a.py"), row("b.py"), row("c.py")])
    results_of(tmp_path / "part.jsonl", [row("a.py")])
    publish.main([str(tmp_path / "all.jsonl")], tmp_path / "results")
    with pytest.raises(SystemExit, match=r"1 published jobs are missing, the first: b\.py"):
        publish.main([str(tmp_path / "part.jsonl")], tmp_path / "results")


@pytest.mark.parametrize(
    ("commit", "clean"),
    [
        ("0123abc", True),
        ("0123abcdef" * 4, True),
        ("0123abc-dirty", False),
        ("v0.1", False),
        ("", False),
        (None, False),
    ],
)
def test_clean_commit_is_a_hash_without_uncommitted_changes(commit: str | None, clean: bool) -> None:
    assert provenance.is_clean(commit) is clean


def test_commit_is_the_given_one_then_the_variables_then_gits(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"rev-parse": "0123abcdef", "status": ""}
    monkeypatch.setattr(provenance, "_git", lambda command, *_: answers[command])
    monkeypatch.delenv("BENCHMARK_COMMIT", raising=False)
    assert provenance.current_commit() == "0123abcdef"
    answers["status"] = " M src/veritasest/api.py"
    assert provenance.current_commit() == "0123abcdef-dirty"
    monkeypatch.setenv("BENCHMARK_COMMIT", "4567def")
    assert provenance.current_commit() == "4567def"
    assert provenance.current_commit("89abcde") == "89abcde"
