"""Completes the user's command, and finds the Python it will run."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from veritasest.errors import UsageError
from veritasest.spec.job import JobSpec

_PYTHON = re.compile(r"python[0-9.]*(\.exe)?")


def resolve(words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> JobSpec:
    """Completes the command ("train.py" and "-m module" imply python) and finds its interpreter."""

    def job(words: Sequence[str], python: str | None) -> JobSpec:
        return JobSpec(command=tuple(words), folder=str(cwd), python=python, environment=dict(env))

    if not words:
        raise UsageError("no command to run", "for example: veritasest run --gpu rtx-4090 -- python train.py")
    first = words[0]
    if first in ("-m", "-c") or first.endswith(".py"):
        if first.endswith(".py"):
            _check_script(first, cwd)
        python = _implied_python(env)
        return job((python, *words), python)
    program = shutil.which(first, path=env.get("PATH")) or _existing(first, cwd) or _beside_us(first)
    if program is None:
        raise UsageError(f"no such script or command: {first!r}", f"looked in {cwd} and in PATH")
    if Path(program).is_dir():
        raise UsageError(
            f"{first!r} is a directory, not a script", f"name the script in it: {first.rstrip('/')}/train.py"
        )
    if _PYTHON.fullmatch(Path(program).name):
        if len(words) > 1 and words[1].endswith(".py"):
            _check_script(words[1], cwd)
        return job(words, program)
    if first != program and not shutil.which(first, path=env.get("PATH")):
        words = (program, *words[1:])
    return job(words, _shebang_python(program, env))


def _implied_python(env: Mapping[str, str]) -> str:
    """The active virtual environment's; else our own if it has torch; else the one in PATH."""
    active = env.get("VIRTUAL_ENV")
    if active and (Path(active) / "bin" / "python").exists():
        return str(Path(active) / "bin" / "python")
    if importlib.util.find_spec("torch") is not None:
        return sys.executable
    search = env.get("PATH")
    return shutil.which("python", path=search) or shutil.which("python3", path=search) or sys.executable


def _shebang_python(program: str, env: Mapping[str, str]) -> str | None:
    """The interpreter of a console script (torchrun, accelerate...), also in pip's form for paths too long for #!."""
    with open(program, "rb") as file:
        head = file.read(1024).decode("utf-8", "replace")
    lines = head.splitlines()[:2]
    if not lines or not lines[0].startswith("#!"):
        return None
    candidates = [lines[0][2:], *(line.removeprefix("'''exec'").strip() for line in lines[1:] if "'''exec'" in line)]
    for candidate in candidates:
        for word in _words(candidate):
            if _PYTHON.fullmatch(Path(word).name):
                return word if os.sep in word else shutil.which(word, path=env.get("PATH"))
    return None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _check_script(script: str, cwd: Path) -> None:
    path = cwd / script
    if path.is_dir():
        raise UsageError(f"{script!r} is a directory, not a script", "name the script in it")
    if not path.exists():
        near = sorted(other.name for other in cwd.glob("*.py"))[:5]
        hint = f"scripts in {cwd}: {', '.join(near)}" if near else f"looked in {cwd}"
        raise UsageError(f"no such script: {script!r}", hint)


def _beside_us(word: str) -> str | None:
    """A command of the environment VeritasEst itself is in, which need not be the active one."""
    path = Path(sys.executable).parent / word
    return str(path) if os.sep not in word and path.is_file() else None


def _existing(word: str, cwd: Path) -> str | None:
    path = cwd / word
    return str(path) if path.exists() else None
