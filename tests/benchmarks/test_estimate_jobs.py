"""How jobs are estimated: the commands, their order and deadline, and what is kept of an estimate."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from benchmarks import job_lists, provenance
from benchmarks.estimate import fields, jobs, one_job, tasks
from benchmarks.json_lines import rows

JOB = job_lists.Job("life/mnist.py --epochs 1", "life")
ESTIMATE = {
    "verdict": "fits",
    "ranks": [
        {
            "peak": {"allocated_bytes": 7, "reserved_bytes": 10},
            "needs": {
                "unconstrained_bytes": 10,
                "process_bytes": 12,
                "minimum_bytes": None,
                "guessed_range_bytes": None,
                "assumed_range_bytes": None,
                "timing_range_bytes": [10, 11],
                "address_range_bytes": None,
            },
            "available_bytes": 100,
        }
    ],
    "assumed": [{"how": "number", "file": "train.py", "line": 3}],
    "not_modelled": [{"library": "cudnn", "name": "x"}, {"library": "cudnn", "name": "x"}],
    "steps": 4,
    "observed": {"training_steps": 4},
    "not_reached": [],
    "warnings": ["one"],
    "runs": [{"host_peak_bytes": 5}, {"host_peak_bytes": None}],
    "failure": None,
}


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were run; each writes an empty object."""
    found: list[list[str]] = []

    def run(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        found.append(words)
        Path(words[words.index("--json") + 1]).write_text("{}")
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return found


@pytest.fixture
def three_jobs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three jobs to estimate, of which one took 9 s before and one 5 s; the names of those that were estimated."""
    lines = ["short.py", "long.py", "new.py"]
    chosen = [tasks.Task(job_lists.Job(line, "tests")) for line in lines]
    before = [{"job": "short.py", "capacity_gib": None, "seconds": 5}]
    before += [{"job": "long.py", "capacity_gib": None, "seconds": 9}]
    monkeypatch.setattr(jobs, "tasks_of", lambda *_: chosen)
    monkeypatch.setattr(jobs, "read_estimates", lambda _: before)
    monkeypatch.setattr(provenance, "estimate_provenance", lambda commit: {"commit": commit, "build": "b"})
    started: list[str] = []

    def estimate(job: job_lists.Job, **_: object) -> dict:
        started.append(job.line)
        return ESTIMATE

    monkeypatch.setattr(jobs, "run_estimate", estimate)
    return started


def test_default_kind_uses_no_option_of_its_own(commands: list[list[str]]) -> None:
    one_job.run_estimate(JOB)
    one_job.run_estimate(JOB, until_exit=False)
    whole, default = commands
    own = {"--quiet", "--gpu", "--json", "--until-exit"}
    assert {word for word in whole[: whole.index("--")] if word.startswith("--")} == own
    assert {word for word in default[: default.index("--")] if word.startswith("--")} == own - {"--until-exit"}


def test_every_listed_job_is_estimated_with_and_without_until_exit() -> None:
    families = ["life", "recipes", "streams"]
    whole, default = tasks.tasks_of("peaks", families), tasks.tasks_of("default", families)
    assert [task.key for task in whole] == [task.key for task in default]
    assert {task.until_exit for task in whole} == {True}
    assert {task.until_exit for task in default} == {False}


def test_longest_jobs_start_first_and_unknown_ones_before_them(three_jobs: list[str], tmp_path: Path) -> None:
    options = ["--commit", "0123abc", "--workers", "1", "--output", str(tmp_path / "r.jsonl")]
    assert jobs.main(options) == 0
    assert three_jobs == ["new.py", "long.py", "short.py"]
    written = rows(tmp_path / "r.jsonl")
    assert {(row["kind"], row["commit"], row["build"]) for row in written} == {("peaks", "0123abc", "b")}


def test_nothing_starts_after_the_deadline_and_the_next_call_continues(
    three_jobs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--commit", "0123abc", "--workers", "1", "--output", str(tmp_path / "r.jsonl")]
    clock = iter(range(1000))
    with monkeypatch.context() as patched:
        patched.setattr(time, "monotonic", lambda: next(clock))
        # Each estimate reads the clock three times: before it starts, at its start and at its end.
        assert jobs.main([*options, "--deadline", "3"]) == 0
    assert three_jobs == ["new.py"]
    assert "1 of 3 are in" in capsys.readouterr().out
    assert jobs.main(options) == 0
    assert three_jobs == ["new.py", "long.py", "short.py"]


@pytest.mark.parametrize(
    ("options", "estimated"),
    [
        (["--published"], {"long.py", "short.py"}),
        (["--only", "n*"], {"new.py"}),
        (["--jobs"], {"short.py", "new.py"}),
        (["--longest", "6"], {"short.py", "new.py"}),
    ],
)
def test_options_choose_jobs(three_jobs: list[str], tmp_path: Path, options: list[str], estimated: set[str]) -> None:
    (tmp_path / "jobs.txt").write_text("# comment\n[section]\nshort.py\nnew.py\n")
    files = [str(tmp_path / "jobs.txt")] if options == ["--jobs"] else []
    assert jobs.main([*options, *files, "--commit", "0123abc", "--output", str(tmp_path / "r.jsonl")]) == 0
    assert set(three_jobs) == estimated


def test_tree_with_uncommitted_changes_is_refused(
    three_jobs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--commit", "0123abc-dirty", "--output", str(tmp_path / "r.jsonl")]
    assert jobs.main(options) == 2
    assert "not a clean commit: 0123abc-dirty" in capsys.readouterr().err
    assert (three_jobs, (tmp_path / "r.jsonl").exists()) == ([], False)
    assert jobs.main([*options, "--allow-dirty"]) == 0
    assert {row["commit"] for row in rows(tmp_path / "r.jsonl")} == {"0123abc-dirty"}


def test_estimate_that_breaks_off_is_a_row_without_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> dict:
        raise RuntimeError("no estimate (exit code 2)")

    monkeypatch.setattr(jobs, "run_estimate", fail)
    row = jobs.estimate(tasks.Task(JOB))
    assert (row["verdict"], row["error"], jobs.has_verdict(row)) == ("no answer", "no estimate (exit code 2)", False)


def test_row_keeps_sizes_ranges_and_counts() -> None:
    row = fields.result_row(ESTIMATE, 1.5)
    assert (row["reserved_bytes"], row["allocated_bytes"], row["process_bytes"]) == (10, 7, 12)
    assert (row["timing_range_bytes"], row["available_bytes"], row["minimum_bytes"]) == ([10, 11], 100, None)
    assert (row["assumed"], row["not_modelled"], row["warnings"], row["runs"]) == (1, ["cudnn:x"], 1, 2)
    assert (row["seconds"], row["host_bytes"]) == (1.5, 5)
    assert "error" not in row


def test_row_of_a_job_that_did_not_complete_has_no_peaks_but_the_error() -> None:
    rank = {**ESTIMATE["ranks"][0], "needs": {**ESTIMATE["ranks"][0]["needs"], "unconstrained_bytes": None}}
    failed = {**ESTIMATE, "verdict": "job_failed", "ranks": [rank], "failure": {"message": "ValueError: x"}}
    row = fields.result_row(failed, 1.5)
    assert (row["reserved_bytes"], row["allocated_bytes"], row["error"]) == (None, None, "ValueError: x")


def test_at_least_150_jobs_include_evaluation_and_saving_and_30_of_them_use_a_framework() -> None:
    plain, recipes = job_lists.read(["life"]), job_lists.read(["recipes"])
    assert len(plain) + len(recipes) >= 150
    assert len(recipes) >= 30


def test_a_third_of_the_scripts_is_held_out() -> None:
    split = json.loads((job_lists.JOBS / "split.json").read_text())
    scripts = {job.words[0] for job in job_lists.read(["life", "recipes"])}
    assert set(split["unseen"]) | set(split["studied"]) == scripts
    assert not set(split["unseen"]) & set(split["studied"])
    assert len(split["unseen"]) == len(scripts) // 3
