"""Unit tests run without PyTorch and without a compiled device: jobs are scripts for the engine `scripted`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from scripted_jobs import emulated_engine, fake_torch, job, workspace

__all__ = ["emulated_engine", "fake_torch", "job", "workspace"]


_forbidden = False


def _refuse_native_libraries(event: str, arguments: tuple[Any, ...]) -> None:
    if _forbidden and event == "ctypes.dlopen" and "veritasest" in str(arguments[0]):
        raise AssertionError(f"a unit test loads the native library {arguments[0]}")


sys.addaudithook(_refuse_native_libraries)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    """Modules of unit tests cannot import torch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torch", None)
        return (yield)


@pytest.fixture(autouse=True)
def _neither_torch_nor_native_libraries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    global _forbidden
    monkeypatch.setitem(sys.modules, "torch", None)  # `import torch` raises ModuleNotFoundError
    _forbidden = True
    yield
    _forbidden = False
