"""The environment that makes a command see the emulated GPU."""

from __future__ import annotations

import os
from collections.abc import Mapping

from veritasest.engines.emulated.build import TorchBuild
from veritasest.engines.emulated.libraries import Installation
from veritasest.engines.emulated.settings import DEFAULT_CUDA, machine_code
from veritasest.engines.emulated.support import cuda_major, is_tested, tested_versions
from veritasest.spec.gpu import GPU

DEVICE_COUNT = 1
INJECT = "engines/emulated/agent/inject"


def child_environment(installation: Installation, build: TorchBuild | None, base: Mapping[str, str]) -> dict[str, str]:
    """`base`, with the stand-ins and the agent added. The user's own LD_AUDIT, LD_PRELOAD and PYTHONPATH stay, after
    ours."""
    preload = [str(path) for path in installation.preload(cuda_major(build.cuda if build else DEFAULT_CUDA))]
    environment = dict(base)
    if hides_device(base.get("CUDA_VISIBLE_DEVICES")):
        del environment["CUDA_VISIBLE_DEVICES"]
    environment.update(
        LD_AUDIT=":".join(filter(None, [str(installation.audit), base.get("LD_AUDIT")])),
        LD_PRELOAD=":".join(filter(None, [*preload, base.get("LD_PRELOAD")])),
        PYTHONPATH=os.pathsep.join(filter(None, [str(installation.home / INJECT), base.get("PYTHONPATH")])),
        TRITON_LIBCUDA_PATH=str(installation.libraries),
    )
    return environment


def device_warnings(gpu: GPU, build: TorchBuild | None, base: Mapping[str, str]) -> tuple[str, ...]:
    """What the user should know about this combination of GPU, PyTorch and environment."""
    warnings = []
    if build and not is_tested(build.version):
        tested = ", ".join(tested_versions())
        warnings.append(f"torch {build.version} has not been tested with VeritasEst (tested: {tested}); continuing")
    if build and machine_code(gpu, build) is None:
        warnings.append(
            f"torch {build.version} has no machine code for the {gpu.name} (compute capability "
            f"{gpu.compute_capability}): on the real GPU it would refuse to run"
        )
    visible = base.get("CUDA_VISIBLE_DEVICES")
    if hides_device(visible):
        warnings.append(f"CUDA_VISIBLE_DEVICES={visible!r} hides the only emulated GPU (0) and was ignored")
    return tuple(warnings)


def hides_device(visible: str | None) -> bool:
    """Whether this CUDA_VISIBLE_DEVICES leaves no emulated device to see. The driver stops at the first bad ordinal."""
    if visible is None:
        return False
    first = visible.split(",")[0].strip()
    return not (first.isdigit() and int(first) < DEVICE_COUNT)
