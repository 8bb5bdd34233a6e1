"""Unit tests run without PyTorch and without a compiled device: jobs are scripts for the engine `scripted`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from scripted_jobs import emulated_engine, fake_torch, job, workspace

__all__ = ["emulated_engine", "fake_torch", "job", "workspace"]

# Tests of operators, which import torch, move to tests/steering.
NEED_TORCH = ("test_arrivals", "test_philox", "test_translations", "test_value_tracking", "test_values")

_forbidden = False


def _refuse_native_libraries(event: str, arguments: tuple[Any, ...]) -> None:
    if _forbidden and event == "ctypes.dlopen" and "veritasest" in str(arguments[0]):
        raise AssertionError(f"a unit test loads the native library {arguments[0]}")


sys.addaudithook(_refuse_native_libraries)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Modules of unit tests cannot import torch."""
    if collector.path.stem.startswith(NEED_TORCH):
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torch", None)
        return (yield)


@pytest.fixture(autouse=True)
def _neither_torch_nor_native_libraries(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    global _forbidden
    if request.path.stem.startswith(NEED_TORCH):
        yield
        return
    monkeypatch.setitem(sys.modules, "torch", None)  # `import torch` raises ModuleNotFoundError
    _forbidden = True
    yield
    _forbidden = False
