"""Text that users read is plain technical English: `forbidden_words.txt` lists what it must not contain."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from veritasest.cli import main, usage, verb_names

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("forbidden_words.txt")
NAMES = Path(__file__).with_name("forbidden_names.txt")
PACKAGES = ("cli", "report", "analysis", "launch", "engines", "studies", "spec", "trace", "gpus")
MODULES = ("api.py", "errors.py", "units.py")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md")


def rows(path: Path) -> list[tuple[str, str]]:
    """What is forbidden, and what to write in its place."""
    lines = (line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#"))
    return [(first, second) for first, second in (line.split("\t") for line in lines)]


@cache
def forbidden() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in rows(LIST)]


def found_in(text: str) -> list[str]:
    """Line breaks count as spaces, so that a phrase may be wrapped."""
    flat = " ".join(text.split())
    return [f"{match[0]!r}: write {instead}" for pattern, instead in forbidden() if (match := pattern.search(flat))]


def literals(path: Path) -> Iterator[str]:
    """The text in a module that can reach a user: its string literals, without docstrings; f-strings with {} for their
    values."""
    tree = ast.parse(path.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings | parts:
            yield node.value


def names(path: Path) -> set[str]:
    """Of the module, and what it defines; a leading underscore does not matter."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    defined = {node.name for node in nodes if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    fields = {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    return {name.lstrip("_") for name in (path.stem, *defined, *fields)}


def modules() -> list[Path]:
    package = ROOT / "src" / "veritasest"
    found = [path for name in PACKAGES for path in sorted((package / name).rglob("*.py"))]
    return [*found, *(package / name for name in MODULES)]


def documents() -> list[Path]:
    return [path for pattern in DOCUMENTS for path in sorted(ROOT.glob(pattern))]


def test_the_list_is_readable() -> None:
    assert len(forbidden()) > 50
    assert all(instead for _, instead in forbidden())


@pytest.mark.parametrize(
    "text",
    [
        "needs 6.27 GiB of the 23.05 GiB a job can have there",
        "384.0 MiB more for the CUDA context, 224.0 MiB that libraries take for themselves",
        "train.py:44, a decision or number from unknown values, told 0.5",
        "on the assumed sizes hangs a need between 3 GiB (least chosen) and 9 GiB (most chosen)",
        "The job failed for a reason of its own",
        "has not been tested with VeritasEst (tested: 2.11); going on",
        "PyTorch ran out of memory 2 times and the script went on: it caught the error itself",
        "Fits on an Tesla T4 (14.74 GiB)",
    ],
)
def test_phrases_of_former_versions_are_found(text: str) -> None:
    assert found_in(text)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_messages_are_plain_english(path: Path) -> None:
    assert [problem for text in literals(path) for problem in found_in(text)] == []


def test_names_say_what_things_are() -> None:
    paths = sorted((ROOT / "src" / "veritasest").rglob("*.py"))
    known = {path: names(path) for path in paths}
    assert len(known) > 100
    wrong = [
        f"{path.relative_to(ROOT)}: {name}, write {instead}"
        for name, instead in rows(NAMES)
        for path in paths
        if name in known[path]
    ]
    assert wrong == []


@pytest.mark.parametrize("verb", verb_names())
def test_the_help_of_every_verb_is_plain_english(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    assert found_in(capsys.readouterr().out) == []


def test_the_list_of_verbs_is_plain_english() -> None:
    assert found_in(usage()) == []


def test_documents_are_plain_english() -> None:
    wrong = {str(path.relative_to(ROOT)): found_in(path.read_text()) for path in documents()}
    assert len(wrong) > 20
    assert {path: problems for path, problems in wrong.items() if problems} == {}
