"""What all verbs have in common, and the small ones."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from veritasest import __version__
from veritasest.cli import main, usage, verb_names

VERBS = verb_names()


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"veritasest {__version__}\n"


def test_run_is_listed_first() -> None:
    assert VERBS[0] == "run"
    assert {"run", "report", "gpus", "doctor"} <= set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_summary_and_an_example(verb: str) -> None:
    module = importlib.import_module(f"veritasest.cli.verbs.{verb}")
    summary = (module.__doc__ or "").splitlines()[0]
    assert summary.endswith(".")
    assert module.EXAMPLE.split()[0] == verb
    (line,) = [line for line in usage().splitlines() if line.startswith(f"  veritasest {module.EXAMPLE}")]
    assert line.endswith(summary)


@pytest.mark.parametrize("verb", VERBS)
def test_help_is_the_docstring(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    module = importlib.import_module(f"veritasest.cli.verbs.{verb}")
    assert module.__doc__ is not None
    assert module.__doc__.splitlines()[0] in capsys.readouterr().out


@pytest.mark.parametrize("argv", [["--help"], ["-h"], ["help"]])
def test_help_lists_every_verb(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert all(f"veritasest {verb}" in out for verb in VERBS)


def test_the_catalogue_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpus"]) == 0
    assert "rtx-4090" in capsys.readouterr().out
    assert main(["gpus", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == "t4"


def test_doctor_without_libraries_is_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VERITASEST_LIB", str(tmp_path))
    assert main(["doctor"]) == 4
    assert "not part of this installation" in capsys.readouterr().out


def test_a_folder_that_is_not_a_recording_is_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 4
    err = capsys.readouterr().err
    assert "is not a recording" in err
    assert "veritasest run --save DIR" in err
