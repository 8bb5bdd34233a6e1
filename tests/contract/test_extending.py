"""The worked examples of docs/contributing/extending.md work as they are, each with the one file it names."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scripted_jobs import fake_torch, job, workspace
from veritasest import report
from veritasest.cli import main, usage, verbs
from veritasest.gpus import catalogue

__all__ = ["fake_torch", "job", "workspace"]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/contributing/extending.md").read_text()
FITS = "job.start(); job.reserve(3 << 30)\nfor n in (1, 2, 3): job.step(n, 3 << 30)\njob.end('exit')\n"


def example(name: str) -> str:
    found = re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert found, f"no example {name}"
    return found[1]


@pytest.fixture
def add_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Puts one more module into a package, for one test."""
    added: list[str] = []

    def add(package: str, name: str, text: str) -> None:
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.py").write_text(text)
        found = importlib.import_module(package)
        monkeypatch.setattr(found, "__path__", [*found.__path__, str(folder)])
        added.append(f"{package}.{name}")

    yield add
    for name in added:
        sys.modules.pop(name, None)


def test_a_gpu_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = json.loads(example("gpu"))
    assert row["id"] not in {gpu.id for gpu in catalogue.load()}
    (tmp_path / "veritasest").mkdir()
    (tmp_path / "veritasest/gpus.jsonl").write_text(json.dumps(row) + "\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    catalogue.load.cache_clear()
    try:
        gpu = catalogue.find("Example")
        assert main(["gpus"]) == 0
    finally:
        catalogue.load.cache_clear()
    assert gpu.total_bytes == row["total_bytes"]
    assert gpu.threads_sm == 1536  # of compute capability 8.9, from architectures.json


def test_every_gpu_of_the_catalogue_is_one_row() -> None:
    rows = (ROOT / "src/veritasest/gpus/gpus.jsonl").read_text().splitlines()
    assert len({json.loads(row)["id"] for row in rows}) == len(rows)


def test_a_verb_is_one_module(add_module: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    add_module(verbs.__name__, "largest", example("verb"))
    assert "veritasest largest" in usage()
    assert "Print the largest GPU of the catalogue." in usage()
    capsys.readouterr()
    assert main(["largest"]) == 0
    assert capsys.readouterr().out == "b200\n"


def test_a_reporter_is_one_module(
    add_module: Callable[..., None], job: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    add_module(report.__name__, "csv_line", example("reporter"))
    report.reporters.cache_clear()
    try:
        assert main(["run", "--gpu", "a10", "--save", "kept", "--quiet", str(job(FITS))]) == 0
        assert main(["report", "kept", "--csv", "-", "--quiet"]) == 0
    finally:
        report.reporters.cache_clear()
    assert capfd.readouterr().out == f"a10,fits,{3 << 30}\n"


def test_the_stand_in_of_the_documentation_is_that_of_the_native_readme() -> None:
    """tests/native/test_adding_a_stand_in.py builds the latter."""
    readme = (ROOT / "native/README.md").read_text()
    code = re.search(r"^```c\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    line = re.search(r"^stand_in\(cufoo .*\)$", PAGE, flags=re.MULTILINE)
    assert code
    assert line
    indented = "".join(f"    {text}" if text.strip() else text for text in code[1].splitlines(keepends=True))
    assert indented in readme
    assert f"    {line[0]}\n" in readme
