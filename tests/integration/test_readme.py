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
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    """Without `pip install` and `make`, which would install what is being tested over itself, and comments."""
    typed = re.findall(r"^\$ (.*?)(?:  +#.*)?$", "\n".join(blocks("console")), flags=re.MULTILINE)
    return [line for line in typed if line.startswith("veritasest ")]


def test_the_readme_has_commands_to_test():
    assert len(commands()) >= 5


@pytest.mark.parametrize("command", commands())
def test_readme_command_works(command):
    done = call(*shlex.split(command)[1:], cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()[-3000:]


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
