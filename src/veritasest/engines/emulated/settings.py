"""The flat section of a run's document that the native part reads (native/core/settings.c)."""

from __future__ import annotations

from collections.abc import Mapping

from veritasest.engines.caches import cache_dir
from veritasest.engines.emulated.build import TorchBuild
from veritasest.engines.emulated.support import architectures, binary_for, driver_version
from veritasest.gpus import cudnn_properties
from veritasest.spec.enums import EventTiming
from veritasest.spec.gpu import GPU
from veritasest.spec.run import RunSpec

DEFAULT_CUDA = "13.0"  # for a command whose PyTorch is not known beforehand


def native_settings(run: RunSpec, build: TorchBuild | None, env: Mapping[str, str]) -> dict[str, str | int]:
    """Keys that are missing keep the native default."""
    driver = driver_version(build.cuda if build else DEFAULT_CUDA)
    cache = cache_dir(env)
    settings: dict[str, str | int] = {
        **_gpu(run, build, driver),
        "cudnn_properties": cudnn_properties(run.gpu, driver=driver),
    }
    if cache:
        settings["plan_cache"] = str(cache / "cudnn-plans")
    if run.guesses:
        settings["guesses"] = run.guesses.value
    if run.events is EventTiming.LATE:
        settings["events"] = run.events.value
    return settings


def machine_code(gpu: GPU, build: TorchBuild | None) -> int | None:
    """The compute capability of the machine code that PyTorch would load; None: it has none for this GPU."""
    version, cuda = (build.version, build.cuda) if build else ("", DEFAULT_CUDA)
    return binary_for(gpu.cc, architectures(version, cuda))


def _gpu(run: RunSpec, build: TorchBuild | None, driver: int) -> dict[str, str | int]:
    gpu = run.gpu
    return {
        "gpu_name": gpu.name,
        "gpu_count": run.gpus,
        "gpu_cc": gpu.cc,
        "gpu_binary": machine_code(gpu, build) or gpu.cc,
        "gpu_sms": gpu.sm_count,
        "gpu_driver": driver,
        "gpu_total": gpu.total_bytes,
        "gpu_context": gpu.context_bytes,
        "gpu_limit": "none" if run.limit_bytes is None else run.limit_bytes,
        "gpu_clock_khz": gpu.clock_khz,
        "gpu_memory_clock_khz": gpu.memory_clock_khz,
        "gpu_bus_bits": gpu.bus_bits,
        "gpu_l2": gpu.l2_bytes,
        "gpu_shared_sm": gpu.shared_sm_bytes,
        "gpu_shared_optin": gpu.shared_optin_bytes,
        "gpu_regs_sm": gpu.regs_sm,
        "gpu_threads_sm": gpu.threads_sm,
        "gpu_blocks_sm": gpu.blocks_sm,
    }
