"""What the benchmark types, and what it keeps of the answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import estimates
import estimating
import joblists

JOB = joblists.Job("life/mnist.py --epochs 1", "life")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were run, each answered with an empty object."""
    commands: list[list[str]] = []

    def run(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(words)
        Path(words[words.index("--json") + 1]).write_text("{}")
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_default_options_are_those_a_user_types(typed: list[list[str]]) -> None:
    estimating.run_estimate(JOB)
    estimating.run_estimate(JOB, until_exit=False)
    whole, default = typed
    own = {"--quiet", "--gpu", "--json", "--until-exit"}
    assert {word for word in whole[: whole.index("--")] if word.startswith("--")} == own
    assert {word for word in default[: default.index("--")] if word.startswith("--")} == own - {"--until-exit"}


def test_every_listed_job_is_estimated_both_ways() -> None:
    families = ["life", "recipes", "streams"]
    whole, default = estimates.tasks("peaks", families), estimates.tasks("default", families)
    assert [task.key for task in whole] == [task.key for task in default]
    assert {task.until_exit for task in whole} == {True}
    assert {task.until_exit for task in default} == {False}


def test_at_least_150_jobs_have_a_whole_life_and_30_of_them_a_framework() -> None:
    plain, recipes = joblists.read(["life"]), joblists.read(["recipes"])
    assert len(plain) + len(recipes) >= 150
    assert len(recipes) >= 30


def test_a_third_of_the_scripts_is_kept_from_study() -> None:
    split = json.loads((joblists.JOBS / "split.json").read_text())
    scripts = {job.words[0] for job in joblists.read(["life", "recipes"])}
    assert set(split["unseen"]) | set(split["studied"]) == scripts
    assert not set(split["unseen"]) & set(split["studied"])
    assert len(split["unseen"]) == len(scripts) // 3


def test_builds_that_do_not_name_what_was_reached_are_kept_as_such() -> None:
    old = {"needs": {}, "steps": 3, "warnings": ["one"]}
    nothing = dict.fromkeys(["observed", "not_reached", "timing_range_bytes", "address_range_bytes"])
    assert estimates.life(old) == nothing | {"steps": 3, "warnings": 1}
    new = old | {"needs": {"timing_range_bytes": [1, 2]}, "not_reached": ["evaluation"]}
    kept = {"timing_range_bytes": [1, 2], "not_reached": ["evaluation"]}
    assert estimates.life(new) == estimates.life(old) | kept
