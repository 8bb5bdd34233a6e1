"""The device description cuDNN reads in place of a real device (its DEVICEPROP descriptor, as JSON text)."""

from __future__ import annotations

import json

from veritasest.spec.gpu import GPU

# Where the GPU sits on the bus. cuDNN does not look at it; kept as on the machine the H200 text was read from.
_PCI_DEVICE_ID = 6


def cudnn_properties(gpu: GPU, *, driver: int = 13000) -> str:
    """Byte for byte what cuDNN itself writes for a real H200 (tests/unit/test_gpus.py holds that text).

    Known limitation: the block reserve of 1,024 bytes from compute capability 8.0 on, and none before, is the
    documented rule, checked on the H200 only.
    """
    properties = {
        "maxGridSize": [2147483647, 65535, 65535],
        "maxBlockSize": [1024, 1024, 64],
        "regsPerBlock": 65536,
        "multiProcessorCount": gpu.sm_count,
        "warpSize": 32,
        "maxSharedMemoryPerBlock": 49152,
        "maxSharedMemoryPerBlockOptin": gpu.shared_optin_bytes,
        "reservedSharedMemoryPerBlock": 1024 if gpu.cc >= 80 else 0,
        "maxRegistersPerSM": gpu.regs_sm,
        "maxCtasPerSM": gpu.blocks_sm,
        "maxThreadsPerBlock": 1024,
        "maxThreadsPerSM": gpu.threads_sm,
        "pciDeviceId": _PCI_DEVICE_ID,
        "isTccDriver": 0,
        "supportCoopLaunch": 1,
        "totalGlobalMem": gpu.total_bytes,
        "smClockRateKHz": gpu.clock_khz,
        "memClockRateKHz": gpu.memory_clock_khz,
        "l2CacheSize": gpu.l2_bytes,
        "cudaDeviceId": 0,
        "deviceVer": gpu.cc * 10,
        "driverVer": driver,
        "deviceName": gpu.name,
    }
    return json.dumps(properties, separators=(",", ":"))
