"""The scorer's command line and its files: no GPU, no torch."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from scorebooks import LISTS, TRUTH, books, fill, score, truth_files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(score, "listed", lambda: LISTS)
    monkeypatch.setitem(sys.modules, "plots", None)  # as where matplotlib is not installed
    return fill(tmp_path)


def test_missing_files_are_called_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(score, "listed", dict)
    monkeypatch.setitem(sys.modules, "plots", None)
    assert score.main(["--folder", str(tmp_path)]) == 0
    assert "not recorded" in capsys.readouterr().out
    assert "Not recorded." in (tmp_path / "results/tables.md").read_text()
    assert json.loads((tmp_path / "results/summary.json").read_text())["all"]["reserved"]["mre_percent"] is None
    assert score.main(["--folder", str(tmp_path), "--fail-above", "100"]) == 1


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
def test_a_missed_limit_is_an_exit_code(folder: Path, options: list[str], code: int) -> None:
    assert score.main(["--folder", str(folder), *options]) == code


def test_a_failed_recording_does_not_hide_a_good_one(folder: Path) -> None:
    path = folder / f"{TRUTH}.jsonl"
    rows = [{"job": job, "completed": False, "error": "killed"} for job in ("a.py", "d.py")]
    path.write_text(path.read_text() + "".join(json.dumps(row) + "\n" for row in rows))
    found = books.read_books(folder, LISTS)
    assert [job.line for job in found.scored] == ["a.py", "b.py", "c.py"]
    assert list(found.failed_on_gpu) == ["d.py"]


def test_a_line_still_being_written_is_left_out_and_a_broken_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"job": "a.py"}\n{"job": "b')
    assert truth_files.read_lines(path) == [{"job": "a.py"}]
    path.write_text('{"job": "b\n{"job": "a.py"}\n')
    with pytest.raises(SystemExit, match=r"rows\.jsonl:1 is no JSON"):
        truth_files.read_lines(path)


def test_plots_drawn_twice_are_the_same_small_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    import plots

    points = [(f"family {n % 17}", 10**9 + n % 7 * 10**6 if n % 50 else None, 10**9, f"{n}.py") for n in range(2000)]
    rivals = {name: {job: 10**8 + number for number, (*_, job) in enumerate(points)} for name in "abcdefgh"}
    drawn = {path.name: path.read_bytes() for path in plots.draw(tmp_path, points, rivals)}
    assert len(drawn) == 3
    assert max(map(len, drawn.values())) < 200_000
    assert {path.name: path.read_bytes() for path in plots.draw(tmp_path, points, rivals)} == drawn
    assert plots.draw(tmp_path, [("family", None, 1, "a.py")], {}) == []
