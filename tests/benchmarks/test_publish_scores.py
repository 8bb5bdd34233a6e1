"""The command that scores the published estimates, and its files: no GPU, no torch."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from small_benchmark import LISTS, TRUTH, add_estimates, estimate, fill

from benchmarks.score import publish
from benchmarks.score.benchmark_data import read_data
from prerequisites import missing


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(publish, "listed", lambda: LISTS)
    monkeypatch.setitem(sys.modules, "benchmarks.score.plots", None)  # as if matplotlib were not installed
    return fill(tmp_path)


def test_missing_files_are_shown_as_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(publish, "listed", dict)
    monkeypatch.setitem(sys.modules, "benchmarks.score.plots", None)
    assert publish.main(["--folder", str(tmp_path)]) == 0
    assert "not recorded" in capsys.readouterr().out
    assert "Not recorded." in (tmp_path / "results/tables.md").read_text()
    assert json.loads((tmp_path / "results/summary.json").read_text())["all"]["reserved"]["mre_percent"] is None
    assert publish.main(["--folder", str(tmp_path), "--fail-above", "100"]) == 1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--fail-above", "1"], 0),
        (["--fail-above", "0.9"], 1),
        (["--fail-p95", "2"], 0),
        (["--fail-p95", "1.9"], 1),
        (["--fail-exact-below", "0.33"], 0),
        (["--fail-exact-below", "0.34"], 1),
    ],
)
def test_exit_code_is_1_if_a_limit_is_missed(folder: Path, options: list[str], code: int) -> None:
    assert publish.main(["--folder", str(folder), *options]) == code


def test_figures_name_the_commit_of_their_estimates(folder: Path) -> None:
    assert publish.main(["--folder", str(folder)]) == 0
    page = (folder / "results/tables.md").read_text()
    assert "| peaks | `0123abc` |" in page
    assert "not a clean commit" not in page


@pytest.mark.parametrize("commit", ["0123abc-dirty", None])
def test_estimates_without_a_clean_commit_are_published_as_a_draft_only(
    folder: Path, capsys: pytest.CaptureFixture[str], commit: str | None
) -> None:
    add_estimates(folder, "default", [estimate("a.py", 1000)], commit=commit)
    assert publish.main(["--folder", str(folder)]) == 2
    assert f"estimates of kind default come from {commit}" in " ".join(capsys.readouterr().out.split())
    assert not (folder / "results/tables.md").exists()
    assert publish.main(["--folder", str(folder), "--draft"]) == 0
    assert f"| default | `{commit}`, **not a clean commit** |" in (folder / "results/tables.md").read_text()


def test_one_row_without_a_clean_commit_is_enough_to_refuse(folder: Path) -> None:
    add_estimates(folder, "default", [estimate("a.py", 1000) | {"commit": "4567def-dirty"}])
    assert publish.unclean_kinds(folder / "results") == {"default": "4567def-dirty"}


def test_failed_recording_does_not_hide_a_good_one(folder: Path) -> None:
    path = folder / f"{TRUTH}.jsonl"
    rows = [{"job": job, "completed": False, "error": "killed"} for job in ("a.py", "d.py")]
    path.write_text(path.read_text() + "".join(json.dumps(row) + "\n" for row in rows))
    found = read_data(folder, LISTS)
    assert [job.line for job in found.scored] == ["a.py", "b.py", "c.py"]
    assert list(found.failed_on_gpu) == ["d.py"]


def test_plots_of_the_same_data_are_the_same_small_files(tmp_path: Path) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise missing("matplotlib is not installed")
    from benchmarks.score import plots

    points = [(f"family {n % 17}", 10**9 + n % 7 * 10**6 if n % 50 else None, 10**9, f"{n}.py") for n in range(2000)]
    rivals = {name: {job: 10**8 + number for number, (*_, job) in enumerate(points)} for name in "abcdefgh"}
    drawn = {path.name: path.read_bytes() for path in plots.draw(tmp_path, points, rivals)}
    assert len(drawn) == 3
    assert max(map(len, drawn.values())) < 200_000
    assert {path.name: path.read_bytes() for path in plots.draw(tmp_path, points, rivals)} == drawn
    assert plots.draw(tmp_path, [("family", None, 1, "a.py")], {}) == []
