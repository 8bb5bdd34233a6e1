"""The PyTorch of an interpreter, inspected without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from veritasest.engines.emulated.build import inspect_build
from veritasest.errors import UnsupportedEnvironment


def test_a_cuda_build_is_recognised_without_importing_it(fake_torch: Callable[..., Path], tmp_path: Path) -> None:
    build = inspect_build(sys.executable, cwd=tmp_path, env={"PYTHONPATH": str(fake_torch())})
    assert (build.version, build.cuda) == ("2.11.0+cu130", "13.0")


@pytest.mark.parametrize(
    ("facts", "match"),
    [
        ({"version": "2.11.0+cpu", "cuda": None}, "CPU-only"),
        ({"version": "2.11.0+rocm6.4", "cuda": None, "hip": "6.4"}, "ROCm"),
        ({"version": "1.13.1+cu117", "cuda": "11.7"}, "CUDA 11.7"),
    ],
)
def test_other_builds_are_refused_with_what_to_type(
    fake_torch: Callable[..., Path], tmp_path: Path, facts: dict[str, str | None], match: str
) -> None:
    with pytest.raises(UnsupportedEnvironment, match=match) as caught:
        inspect_build(sys.executable, cwd=tmp_path, env={"PYTHONPATH": str(fake_torch(**facts))})
    assert "pip install torch==2.11.0" in caught.value.hint


def test_a_python_without_torch_is_refused(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -I "$@"\n')
    python.chmod(0o755)
    with pytest.raises(UnsupportedEnvironment, match="has no PyTorch"):
        inspect_build(str(python), cwd=tmp_path, env={})


def test_a_python_that_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedEnvironment, match="failed to report its PyTorch"):
        inspect_build("/bin/false", cwd=tmp_path, env={})
