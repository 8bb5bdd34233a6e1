"""What the README and the examples tell a reader to type works."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import PATIENCE_S, call, environment

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
QUICKSTART = (ROOT / "docs/quickstart.md").read_text()
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def commands(text: str) -> list[str]:
    """Without `pip install` and `make`, which would install what is being tested over itself, and comments."""
    typed = re.findall(r"^\$ (.*?)(?:  +#.*)?$", "\n".join(blocks("console", text)), flags=re.MULTILINE)
    return [line for line in typed if line.startswith("veritasest ")]


DEMO, *FURTHER = commands(README)


def test_the_readme_and_the_quickstart_have_commands_to_test():
    assert len(FURTHER) >= 4
    assert len(commands(QUICKSTART)) >= 4


def test_the_demo_of_the_readme_shows_what_is_printed():
    """All but the output of the job and the numbers of steps and seconds, which depend on the machine's speed."""
    done = call(*shlex.split(DEMO)[1:], cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    shown, printed = (report_lines(text) for text in (blocks("console")[0], done.stdout.decode()))
    assert len(shown) >= 9
    assert shown == printed


def report_lines(text: str) -> list[str]:
    lines = text[text.index("Fits on") :].splitlines()
    return [line for line in lines if not re.search(r" of \d+$|\d steps", line)]


@pytest.mark.parametrize("command", FURTHER)
def test_readme_command_works(command):
    done = call(*shlex.split(command)[1:], cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()[-3000:]


def test_the_commands_of_the_quickstart_work_one_after_another(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "build").mkdir()
    for command in commands(QUICKSTART):
        done = call(*shlex.split(command)[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stderr.decode()[-3000:]}"


@pytest.mark.parametrize("code", blocks("python"))
def test_readme_python_works(code):
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert done.stdout.decode().splitlines()[-1].startswith("fits ")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_estimated(path):
    done = call("run", "--steps", "2", "--", sys.executable, str(path), "--batch-size", "4", cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()[-3000:]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_a_plain_training_script(path):
    text = path.read_text()
    assert "veritasest" not in text
    assert len(text.splitlines()) <= 70
