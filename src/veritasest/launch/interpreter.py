"""Finds the Python a command will run, and looks at its PyTorch without importing it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veritasest.engines.emulated.support import CUDA_MAJORS, OLDEST_PYTHON
from veritasest.errors import UnsupportedEnvironment, UsageError

_PYTHON = re.compile(r"python[0-9.]*(\.exe)?")
_INSTALL = "pip install torch==2.11.0 (or: pip install 'veritasest[torch]')"

# Importing torch takes over a second; its version file is plain text.
_PROBE = """
import importlib.util, json, os, sys
found = importlib.util.find_spec("torch")
origin = found.origin if found else None
folder = os.path.dirname(origin) if origin else None
text = ""
if folder and os.path.exists(os.path.join(folder, "version.py")):
    with open(os.path.join(folder, "version.py")) as file:
        text = file.read()
print(json.dumps({
    "python": sys.executable, "python_version": list(sys.version_info[:3]), "torch": folder, "version_file": text,
    "cuda_library": bool(folder) and os.path.exists(os.path.join(folder, "lib", "libtorch_cuda.so")),
}))
"""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command ready to run. `python` is the interpreter it leads to, None when that cannot be told beforehand."""

    words: tuple[str, ...]
    python: str | None


@dataclass(frozen=True, kw_only=True)
class TorchBuild:
    python: str
    python_version: tuple[int, ...]
    version: str
    cuda: str
    path: str


def resolve(words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Command:
    """Completes the command ("train.py" and "-m module" imply python) and finds its interpreter."""
    if not words:
        raise UsageError("no command to run", "for example: veritasest run --gpu rtx-4090 -- python train.py")
    first = words[0]
    if first in ("-m", "-c") or first.endswith(".py"):
        if first.endswith(".py"):
            _check_script(first, cwd)
        python = _implied_python(env)
        return Command(words=(python, *words), python=python)
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
        return Command(words=tuple(words), python=program)
    if first != program and not shutil.which(first, path=env.get("PATH")):
        words = (program, *words[1:])
    return Command(words=tuple(words), python=_shebang_python(program, env))


def inspect_build(python: str, *, cwd: Path, env: Mapping[str, str]) -> TorchBuild:
    """The CUDA build of PyTorch that `python` would import; an error with the remedy when there is none."""
    facts = _ask(python, cwd=cwd, env=env)
    python = facts["python"] or python
    version = tuple(facts["python_version"])
    if version < OLDEST_PYTHON:
        raise UnsupportedEnvironment(
            f"{python} is Python {'.'.join(map(str, version))}; the job needs 3.10 or later to be estimated",
            "make an environment with a newer Python",
        )
    if not facts["torch"]:
        raise UnsupportedEnvironment(f"{python} has no PyTorch", f"install it there: {_INSTALL}")
    return _cuda_build(python, version, facts)


def _cuda_build(python: str, python_version: tuple[int, ...], facts: Mapping[str, Any]) -> TorchBuild:
    text = facts["version_file"]
    torch_version = _assigned("__version__", text) or "of unknown version"
    if _assigned("hip", text):
        raise UnsupportedEnvironment(
            f"{python} has torch {torch_version}, a ROCm build; VeritasEst emulates CUDA devices",
            f"install a CUDA build: {_INSTALL}",
        )
    cuda = _assigned("cuda", text)
    if not cuda or not facts["cuda_library"]:
        raise UnsupportedEnvironment(
            f"{python} has torch {torch_version}, a CPU-only build; VeritasEst runs the CUDA build (no GPU needed)",
            f"install it there: {_INSTALL}",
        )
    if int(cuda.split(".")[0]) not in CUDA_MAJORS:
        raise UnsupportedEnvironment(
            f"{python} has torch {torch_version}, built for CUDA {cuda}; "
            f"VeritasEst stands in for CUDA {' and '.join(map(str, CUDA_MAJORS))}",
            f"install a newer build: {_INSTALL}",
        )
    return TorchBuild(
        python=python, python_version=python_version, version=torch_version, cuda=cuda, path=facts["torch"]
    )


def _ask(python: str, *, cwd: Path, env: Mapping[str, str]) -> dict[str, Any]:
    try:
        asked = subprocess.run(
            [python, "-c", _PROBE], cwd=cwd, env=dict(env), capture_output=True, text=True, timeout=60, check=True
        )
        facts: dict[str, Any] = json.loads(asked.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        detail = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1:]
        raise UnsupportedEnvironment(
            f"{python} could not be asked which PyTorch it has: {''.join(detail)}",
            f"does this work? {python} -c 'import torch'",
        ) from error
    return facts


def _assigned(name: str, text: str) -> str | None:
    match = re.search(rf"^{name}\s*(?::[^=\n]*)?=\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
    return match.group(1) if match else None


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
