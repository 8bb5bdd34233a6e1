"""Files of JSON lines, plain and compressed."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import json_lines

ROWS = [{"recording": "r1"}, {"job": "a.py"}, {"job": "b.py", "bytes": 2}]


def test_incomplete_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"job": "a.py"}\n{"job": "b')
    assert json_lines.read_lines(path) == [{"job": "a.py"}]


def test_broken_line_is_reported_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"job": "b\n{"job": "a.py"}\n')
    with pytest.raises(SystemExit, match=r"rows\.jsonl:1 is not JSON"):
        json_lines.read_lines(path)


def test_missing_file_has_no_rows(tmp_path: Path) -> None:
    assert json_lines.read_lines(tmp_path / "rows.jsonl") == []


def test_compressed_rows_are_read_before_those_added_since(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    json_lines.write_compressed(path, ROWS[:2])
    json_lines.add(path, ROWS[2])
    assert json_lines.read_lines(path) == ROWS
    assert json_lines.headers(path) == ROWS[:1]
    assert json_lines.rows(path) == ROWS[1:]


def test_compressing_keeps_all_rows_and_always_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    json_lines.write_compressed(first, ROWS)
    json_lines.write_compressed(second, ROWS[:2])
    json_lines.add(second, ROWS[2])
    json_lines.compress(second)
    assert not second.exists()
    assert json_lines.read_lines(second) == ROWS
    assert json_lines.compressed(first).read_bytes() == json_lines.compressed(second).read_bytes()


def test_only_large_files_are_compressed_for_the_first_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.jsonl"
    json_lines.add(path, ROWS[1])
    json_lines.compress(path)
    assert path.exists()
    monkeypatch.setattr(json_lines, "COMPRESS_FROM_BYTES", 10)
    json_lines.compress(path)
    assert (path.exists(), json_lines.read_lines(path)) == (False, [ROWS[1]])


def test_no_plain_data_file_of_the_benchmark_is_large() -> None:
    benchmarks = Path(json_lines.__file__).parent
    large = [path.name for path in benchmarks.rglob("*.jsonl") if path.stat().st_size > json_lines.COMPRESS_FROM_BYTES]
    assert large == []
