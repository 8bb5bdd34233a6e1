"""The structures that the CUDA runtime's stand-in fills have the layout of NVIDIA's own headers."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from prerequisites import missing, native_installation, program

# Numbers that differ from each other, so that a field in another's place is noticed.
DEVICE = {
    "gpu_name": "A GPU",
    "gpu_cc": 93,
    "gpu_binary": 86,
    "gpu_sms": 58,
    "gpu_total": 12345678848,
    "gpu_clock_khz": 1111000,
    "gpu_memory_clock_khz": 2222000,
    "gpu_bus_bits": 333,
    "gpu_l2": 4444440,
    "gpu_shared_sm": 55555,
    "gpu_shared_optin": 44444,
    "gpu_regs_sm": 66666,
    "gpu_threads_sm": 1537,
    "gpu_blocks_sm": 23,
}
PROPERTIES = {
    "name": b"A GPU".ljust(256, b"\0"),
    "totalGlobalMem": 12345678848,
    "sharedMemPerBlock": 49152,
    "regsPerBlock": 65536,
    "warpSize": 32,
    "maxThreadsPerBlock": 1024,
    "totalConstMem": 65536,
    "major": 9,
    "minor": 3,
    "textureAlignment": 512,
    "texturePitchAlignment": 32,
    "multiProcessorCount": 58,
    "integrated": 0,
    "canMapHostMemory": 1,
    "surfaceAlignment": 512,
    "concurrentKernels": 1,
    "ECCEnabled": 0,
    "pciBusID": 6,
    "asyncEngineCount": 3,
    "unifiedAddressing": 1,
    "memoryBusWidth": 333,
    "l2CacheSize": 4444440,
    "persistingL2CacheMaxSize": 4444440 // 8 * 5,
    "maxThreadsPerMultiProcessor": 1537,
    "streamPrioritiesSupported": 1,
    "sharedMemPerMultiprocessor": 55555,
    "regsPerMultiprocessor": 66666,
    "managedMemory": 1,
    "isMultiGpuBoard": 0,
    "cooperativeLaunch": 1,
    "sharedMemPerBlockOptin": 44444,
    "maxBlocksPerMultiProcessor": 23,
    "accessPolicyMaxWindowSize": 134213632,
    "reservedSharedMemPerBlock": 1024,
    "hostRegisterSupported": 1,
    "memoryPoolsSupported": 1,
    "ipcEventSupported": 1,
    "clusterLaunch": 1,
    "unifiedFunctionPointers": 0,
}
PROPERTIES_UNTIL_12 = {"clockRate": 1111000, "memoryClockRate": 2222000, "singleToDoublePrecisionPerfRatio": 2}
FUNCTION = {
    "sharedSizeBytes": 0,
    "maxThreadsPerBlock": 1024,
    "numRegs": 32,
    "ptxVersion": 86,
    "binaryVersion": 86,
    "maxDynamicSharedSizeBytes": 49152,
    "preferredShmemCarveout": 2**32 - 1,  # -1: no preference
}
DEVICE_POINTER = {"type": 2, "device": 0, "hostPointer": 0}  # and devicePointer, known only once it is allocated

PRINT_FIELD = r'printf(", \"%s\": [%zu, %zu]", "{name}", offsetof(T, {name}), sizeof(((T *)0)->{name}));'
PRINT_LAYOUT = r"""
#include <stddef.h>
#include <stdio.h>
#include <cuda_runtime_api.h>
typedef struct {struct} T;
int main(void) {{ printf("{{\"\": [0, %zu]", sizeof(T)); {fields} puts("}}"); return 0; }}
"""
# Not in every wheel: what crt/host_defines.h makes of these names under the host's compiler.
HOST_DEFINES = """
#define CUDARTAPI
#define __device_builtin__
#define __cudart_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __host__
#define __device__
"""
GUARD, UNTOUCHED = 4096, 0xA5
# In a separate process: a stand-in that is loaded stays, and would answer for the real library in later tests.
CALL = """
import ctypes, json, sys
path, call, size, guard, fill = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
runtime = ctypes.CDLL(path)
address = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(1)) == 0
out = (ctypes.c_ubyte * (size + guard))(*[fill] * (size + guard))
second = {"cudaPointerGetAttributes": address, "cudaFuncGetAttributes": None}.get(call, 0)
assert getattr(runtime, call)(out, second) == 0
print(json.dumps({"address": address.value, "bytes": bytes(out).hex()}))
"""


@dataclass(frozen=True, kw_only=True)
class Filled:
    """What a call left in its structure, read at the header's offsets."""

    layout: dict[str, tuple[int, int]]
    content: bytes
    address: int

    def value(self, name: str) -> int | bytes:
        offset, size = self.layout[name]
        raw = self.content[offset : offset + size]
        return int.from_bytes(raw, "little") if size <= 8 else raw

    def values(self) -> dict[str, int | bytes]:
        return {name: self.value(name) for name in self.layout if name}

    def has_the_headers_size(self) -> bool:
        """Written to the last byte, and not a byte further."""
        size = self.layout[""][1]
        return self.content[size - 1] != UNTOUCHED and set(self.content[size:]) == {UNTOUCHED}


def include_folders() -> Iterator[Path]:
    """Where wheels keep the runtime's headers: nvidia's own by CUDA version, and the ones triton brings along."""
    for package, folders in {
        "nvidia": ("cu13/include", "cuda_runtime/include"),
        "triton": ("backends/nvidia/include",),
    }.items():
        spec = importlib.util.find_spec(package)
        for home in (spec and spec.submodule_search_locations) or ():
            yield from (Path(home) / folder for folder in folders)


@pytest.fixture(scope="module", params=[12, 13])
def major(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(scope="module")
def headers(major: int) -> Path:
    for folder in include_folders():
        header = folder / "cuda_runtime_api.h"
        if header.exists() and re.search(rf"#define CUDART_VERSION\s+{major}\d\d\d\b", header.read_text()):
            return folder
    raise missing(f"no installed package has the headers of CUDA {major}")


@pytest.fixture(scope="module")
def runtime(major: int) -> Path:
    return native_installation().libraries / f"cu{major}" / f"libcudart.so.{major}"


@pytest.fixture
def layout_of(headers: Path, tmp_path: Path) -> Callable[..., dict[str, tuple[int, int]]]:
    """Offset and size of the named fields, as the C compiler sees them; "" is the structure itself."""
    compiler = program("cc", "gcc")

    def layout(struct: str, names: Iterable[str]) -> dict[str, tuple[int, int]]:
        fields = "".join(PRINT_FIELD.replace("{name}", name) for name in names)
        source, binary = tmp_path / "layout.c", tmp_path / "layout"
        source.write_text(PRINT_LAYOUT.format(struct=struct, fields=fields))
        (tmp_path / "last" / "crt").mkdir(parents=True)
        (tmp_path / "last" / "crt" / "host_defines.h").write_text(HOST_DEFINES)
        folders = [f"-I{headers}", f"-idirafter{tmp_path / 'last'}"]
        subprocess.run([compiler, "-w", *folders, "-o", binary, source], check=True)
        return json.loads(subprocess.run([binary], check=True, capture_output=True).stdout)

    return layout


@pytest.fixture
def filled(
    runtime: Path, layout_of: Callable[..., dict[str, tuple[int, int]]], tmp_path: Path
) -> Callable[..., Filled]:
    settings = tmp_path / "run.json"
    settings.write_text(json.dumps({"native": DEVICE}))

    def fill(call: str, struct: str, names: Iterable[str]) -> Filled:
        layout = layout_of(struct, names)
        command = [sys.executable, "-c", CALL, runtime, call, str(layout[""][1]), str(GUARD), str(UNTOUCHED)]
        env = os.environ | {"VERITASEST_RUN": str(settings)}
        answer = json.loads(subprocess.run(command, check=True, capture_output=True, env=env).stdout)
        return Filled(layout=layout, content=bytes.fromhex(answer["bytes"]), address=answer["address"])

    return fill


def test_device_properties(filled: Callable[..., Filled], major: int) -> None:
    expected = PROPERTIES | (PROPERTIES_UNTIL_12 if major < 13 else {})
    properties = filled("cudaGetDeviceProperties", "cudaDeviceProp", expected)
    assert properties.values() == expected
    assert properties.has_the_headers_size()


def test_pointer_attributes(filled: Callable[..., Filled]) -> None:
    attributes = filled("cudaPointerGetAttributes", "cudaPointerAttributes", [*DEVICE_POINTER, "devicePointer"])
    assert attributes.values() == DEVICE_POINTER | {"devicePointer": attributes.address}
    assert attributes.has_the_headers_size()


def test_function_attributes(filled: Callable[..., Filled]) -> None:
    attributes = filled("cudaFuncGetAttributes", "cudaFuncAttributes", FUNCTION)
    assert attributes.values() == FUNCTION
    assert attributes.has_the_headers_size()
