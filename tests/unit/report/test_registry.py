"""Reporters are found by name."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from estimates import estimate

import veritasest.report
from veritasest.cli import main
from veritasest.report import reporters
from veritasest.report.exit_codes import EXIT_CODES
from veritasest.spec.enums import Verdict

SHORT = """
from veritasest.report.registry import Reporter

def write(estimate, recording, stream):
    stream.write(f"{estimate.verdict} with {len(recording.runs)} run\\n")

REPORTER = Reporter(name="short", help="one line", write=write)
"""


@pytest.fixture
def new_reporter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more module in the package `veritasest.report`."""
    (tmp_path / "short_report.py").write_text(SHORT)
    monkeypatch.setattr(veritasest.report, "__path__", [*veritasest.report.__path__, str(tmp_path)])
    reporters.cache_clear()
    yield
    sys.modules.pop("veritasest.report.short_report", None)
    reporters.cache_clear()


def test_reporters_are_found_by_name() -> None:
    found = reporters()
    assert {"terminal", "json"} <= set(found)
    assert all(reporter.name == name and reporter.help for name, reporter in found.items())


@pytest.mark.usefixtures("new_reporter", "workspace")
def test_a_new_module_is_a_reporter_with_its_option(job, capfd: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    job("job.start(); job.reserve(5); job.end('exit')")
    assert main(["run", "--short", "-", "--quiet", "train.py"]) == 0
    assert capfd.readouterr().out == "fits with 1 run\n"
    assert main(["report", "--help"]) == 0
    assert "--short FILE" in capfd.readouterr().out


def test_json_has_what_the_terminal_leaves_out() -> None:
    stream = io.StringIO()
    reporters()["json"].write(estimate(), None, stream)
    found = json.loads(stream.getvalue())
    assert found == estimate().to_dict()
    assert "recording" not in found


def test_every_verdict_has_its_own_exit_code() -> None:
    assert set(EXIT_CODES) == set(Verdict)
    assert len(set(EXIT_CODES.values())) == len(Verdict)
    assert not {2, 130} & set(EXIT_CODES.values())  # wrong usage, interrupted
