"""Looks at the PyTorch of an interpreter without importing it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veritasest.engines.emulated.support import CUDA_MAJORS, OLDEST_PYTHON, cuda_major
from veritasest.errors import UnsupportedEnvironment

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
class TorchBuild:
    python: str
    python_version: tuple[int, ...]
    version: str
    cuda: str
    path: str

    @property
    def cuda_major(self) -> int:
        return cuda_major(self.cuda)


def inspect_build(python: str, *, cwd: Path, env: Mapping[str, str]) -> TorchBuild:
    """The CUDA build of PyTorch that `python` would import. Raises UnsupportedEnvironment if there is none."""
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
    if cuda_major(cuda) not in CUDA_MAJORS:
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
            f"{python} failed to report its PyTorch: {''.join(detail)}",
            f"check that this works: {python} -c 'import torch'",
        ) from error
    return facts


def _assigned(name: str, text: str) -> str | None:
    match = re.search(rf"^{name}\s*(?::[^=\n]*)?=\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
    return match.group(1) if match else None
