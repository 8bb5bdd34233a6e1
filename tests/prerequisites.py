"""What some tests need of the machine: where it is missing they fail. VERITASEST_TESTS_MAY_SKIP=1 skips them."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from veritasest.engines.emulated.libraries import Installation, installed
from veritasest.errors import UnsupportedEnvironment

VARIABLE = "VERITASEST_TESTS_MAY_SKIP"


def missing(what: str) -> BaseException:
    """To be raised: a suite that skips silently would pass without having tested anything."""
    if os.environ.get(VARIABLE) == "1":
        return pytest.skip.Exception(what, allow_module_level=True, _use_item_location=True)
    return pytest.fail.Exception(f"{what} ({VARIABLE}=1 skips such tests)", pytrace=False)


def native_installation() -> Installation:
    """The compiled stand-in libraries."""
    try:
        return installed()
    except UnsupportedEnvironment as error:
        raise missing(str(error)) from error


def native_core() -> Path:
    return native_installation().libraries / "libveritasest.so"


def cuda_torch() -> Path:
    """The folder of a CUDA build of PyTorch, found without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise missing("torch is not installed")
    folder = Path(spec.origin).parent
    if not (folder / "lib" / "libtorch_cuda.so").exists():
        raise missing("the installed torch is not a CUDA build")
    return folder


def program(*names: str) -> str:
    """The first of these programs that is installed."""
    for name in names:
        if found := shutil.which(name):
            return found
    raise missing(f"not installed: {' or '.join(names)}")
