"""Unit tests depend neither on PyTorch nor on a compiled device (conftest.py)."""

from __future__ import annotations

import ctypes
import importlib
from pathlib import Path

import pytest


def test_a_unit_test_cannot_import_torch() -> None:
    with pytest.raises(ModuleNotFoundError, match="torch"):
        importlib.import_module("torch")


def test_a_unit_test_cannot_load_a_native_library(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="loads the native library"):
        ctypes.CDLL(str(tmp_path / "libveritasest.so"))
