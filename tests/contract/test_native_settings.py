"""The native part reads the settings that Python writes, and its built-in GPU is the catalogue's H200."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from native import run_native
from veritasest.engines.emulated.build import TorchBuild
from veritasest.engines.emulated.settings import native_settings
from veritasest.gpus import GPU, find
from veritasest.spec.enums import Bound, EventTiming
from veritasest.spec.run import RunSpec

NATIVE = Path(__file__).parents[2] / "native"
BUILD = TorchBuild(python="python", python_version=(3, 11, 7), version="2.11.0+cu130", cuda="13.0", path="/torch")
UNLIMITED = 2**64 - 1

PRINT_GPU = """
class Gpu(ctypes.Structure):  # struct vest_gpu
    _fields_ = [
        ("name", ctypes.c_char * 64),
        *[(name, ctypes.c_int) for name in ("count", "cc", "binary", "sms", "driver")],
        *[(name, ctypes.c_uint64) for name in ("total", "context", "limit")],
        *[(name, ctypes.c_int) for name in ("clock_khz", "memory_clock_khz", "bus_bits", "l2", "shared_sm")],
        *[(name, ctypes.c_int) for name in ("shared_optin", "regs_sm", "threads_sm", "blocks_sm")],
    ]
core.vest_gpu.restype = ctypes.POINTER(Gpu)
gpu = core.vest_gpu().contents
values = {name: getattr(gpu, name) for name, _ in Gpu._fields_}
print(json.dumps({**values, "name": gpu.name.decode()}))
"""

PRINT_SETTINGS = """
core.vest_setting.restype = ctypes.c_char_p
values = {key: core.vest_setting(key.encode()) for key in ("trace", "other")}
print(json.dumps({key: value.hex() if value is not None else None for key, value in values.items()}))
"""


def facts(gpu: GPU) -> dict[str, Any]:
    return {
        "name": gpu.name,
        "cc": gpu.cc,
        "sms": gpu.sm_count,
        "total": gpu.total_bytes,
        "context": gpu.context_bytes,
        "clock_khz": gpu.clock_khz,
        "memory_clock_khz": gpu.memory_clock_khz,
        "bus_bits": gpu.bus_bits,
        "l2": gpu.l2_bytes,
        "shared_sm": gpu.shared_sm_bytes,
        "shared_optin": gpu.shared_optin_bytes,
        "regs_sm": gpu.regs_sm,
        "threads_sm": gpu.threads_sm,
        "blocks_sm": gpu.blocks_sm,
    }


@pytest.mark.parametrize("settings", [None, {}], ids=["no document", "an empty section"])
def test_the_built_in_gpu_is_the_h200_of_the_catalogue(settings: dict[str, Any] | None, tmp_path: Path) -> None:
    h200 = facts(find("h200"))
    expected = {**h200, "count": 1, "binary": 90, "driver": 13000, "limit": h200["total"] - h200["context"]}
    assert json.loads(run_native(PRINT_GPU, settings, tmp_path)) == expected


def test_every_setting_of_a_gpu_arrives(tmp_path: Path) -> None:
    gpu = {**facts(find("rtx-4090")), "count": 2, "binary": 86, "driver": 12090, "limit": "none"}
    printed = run_native(PRINT_GPU, {f"gpu_{key}": value for key, value in gpu.items()}, tmp_path)
    assert json.loads(printed) == {**gpu, "limit": UNLIMITED}


def test_the_engine_describes_the_gpu_completely(tmp_path: Path) -> None:
    """A key that the engine left out would silently be the H200's."""
    settings = native_settings(RunSpec(gpu=find("rtx-4090"), limit_bytes=7), BUILD, {})
    given = {key.removeprefix("gpu_"): value for key, value in settings.items() if key.startswith("gpu_")}
    assert json.loads(run_native(PRINT_GPU, settings, tmp_path)) == given


def test_every_setting_of_the_engine_is_read_by_name() -> None:
    run = RunSpec(gpu=find("h200"), limit_bytes=None, guesses=Bound.LOW, events=EventTiming.LATE)
    settings = native_settings(run, BUILD, {"XDG_CACHE_HOME": "/cache"})
    written = {key for key in settings if not key.startswith("gpu_")} | {"trace", "home", "books", "layer", "kept"}
    sources = [path.read_text() for path in NATIVE.glob("*/*.c") if path.parent.name != "tests"]
    read = set(re.findall(r'\bvest_setting\("(\w+)"\)', "".join(sources)))
    assert written | {"addresses"} == read  # `addresses` is set by tests only


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/tmp/a folder/trace.jsonl",
        'quotes " and \\ and /',
        "lines\nand\ttabs\x01\x7f",
        "Größe, 模型, 😀",
        b"/not \xff\xfe utf-8".decode("utf-8", "surrogateescape"),
        json.dumps({"deviceName": "NVIDIA H200", "grid": [1, 2]}, separators=(",", ":")),
    ],
)
def test_text_arrives_as_it_was_written(text: str, tmp_path: Path) -> None:
    printed = json.loads(run_native(PRINT_SETTINGS, {"trace": text, "gpu_sms": 7}, tmp_path))
    assert printed == {"trace": text.encode("utf-8", "surrogateescape").hex(), "other": None}
