"""The documentation agrees with the code."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

from veritasest.launch.files.trackers import tracker_environment
from veritasest.spec.enums import FileMode
from veritasest.spec.estimate import SCHEMA_VERSION, Estimate
from veritasest.spec.variables import VARIABLES, Use

ROOT = Path(__file__).parents[2]
JSON_PAGE = (ROOT / "docs/reference/json.md").read_text()
OUTSIDE = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [*OUTSIDE, *sorted((ROOT / "docs").rglob("*.md"))]


def field_names(kind: type) -> set[str]:
    """Of the dataclass and of those it holds."""
    names: set[str] = set()
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        names.add(field.name)
        for part in (hints[field.name], *typing.get_args(hints[field.name])):
            if dataclasses.is_dataclass(part):
                names |= field_names(typing.cast("type", part))
    return names


def test_every_field_of_the_estimate_is_documented() -> None:
    documented = {name.rpartition(".")[2] for name in re.findall(r"`([a-z_.]+)`", JSON_PAGE)}
    assert field_names(Estimate) - {"recording"} - documented == set()


def test_the_documented_schema_version_is_the_one_written() -> None:
    assert f"`schema_version` is {SCHEMA_VERSION}." in JSON_PAGE


def test_generated_pages_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts/generate-docs"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def variables_in_code() -> set[str]:
    """Names that occur as text in the code, outside of comments."""
    table = ROOT / "src/veritasest/spec/variables.py"
    python = [path for path in (ROOT / "src").rglob("*.py") if path != table]
    native = [path for path in (ROOT / "native").rglob("*.[ch]") if path.parent.name != "tests"]
    # The one exception: names that the native part accepts from an older launcher.
    texts = [
        re.sub(r"^static void read_old_variables.*?^}", "", path.read_text(), flags=re.S | re.M) for path in native
    ]
    return set(re.findall(r'"(VERITASEST_[A-Z_]+)"', "\n".join([*(path.read_text() for path in python), *texts])))


def test_the_documented_variables_of_ours_are_those_in_the_code() -> None:
    assert {variable.name for variable in VARIABLES if variable.name.startswith("VERITASEST_")} == variables_in_code()


def test_every_variable_that_keeps_a_tracker_offline_is_documented() -> None:
    changed = tracker_environment({"MLFLOW_TRACKING_URI": "https://example.org"}, mode=FileMode.OVERLAY)
    assert set(changed) <= {variable.name for variable in VARIABLES if variable.use is Use.SET}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_line_is_longer_than_120_characters(path: Path) -> None:
    too_long = [number for number, line in enumerate(path.read_text().splitlines(), start=1) if len(line) > 120]
    assert too_long == []


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path.name)
def test_links_of_pages_outside_the_site_lead_to_files(path: Path) -> None:
    """Those within the site are checked when it is built (`make docs`)."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []


PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]+)`")
FOLDERS = ("", "src/veritasest", "src/veritasest/engines/emulated", "native")
# Examples, files of the user, and what a build or a job leaves.
ELSEWHERE = ("build/", "native/cufoo/", "veritasest/gpus.jsonl", "cufoo/", "01-capacity/")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_that_are_named_exist(path: Path) -> None:
    named = [name for name in PATH.findall(path.read_text()) if not name.startswith(ELSEWHERE) and "NAME" not in name]
    assert [name for name in named if not any((ROOT / folder / name).exists() for folder in FOLDERS)] == []


def test_modules_named_for_variables_exist() -> None:
    assert [each.where for each in VARIABLES if not (ROOT / "src/veritasest" / each.where).exists()] == []
