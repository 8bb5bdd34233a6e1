"""The environment that turns a command into one that sees the emulated GPU."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from veritasest.engines.emulated.caches import kept_folder
from veritasest.engines.emulated.libraries import Installation
from veritasest.engines.emulated.support import TESTED, architectures, binary_for, driver_version, minor_version
from veritasest.gpus import GPU, cudnn_properties
from veritasest.launch.files import INTERPOSER, SPARSE, Files, Layer
from veritasest.launch.interpreter import TorchBuild
from veritasest.spec.values import Values

DEVICE_COUNT = 1
INJECT = "engines/emulated/agent/inject"
DEFAULT_STEPS = 3
DEFAULT_QUIET = 2
DEFAULT_CUDA = "13.0"  # for a command whose PyTorch could not be looked at beforehand


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """When the agent ends the job: after exactly `steps`, never (`until_exit`), or, by default, when it has seen the
    job's whole life or spent `budget_s` on it (None: a budget that grows with the job's own time).

    `forward_from` and `leave_from` repeat such a run: batches are skipped, and loops left, after the same steps.
    """

    steps: int | None = None
    until_exit: bool = False
    budget_s: float | None = None
    forward_from: int | None = None
    leave_from: int | None = None

    def text(self) -> str:
        repeated = {"steps": self.steps, "forward_from": self.forward_from, "leave_from": self.leave_from}
        given = [f"{name}={value}" for name, value in repeated.items() if value is not None]
        if given:
            return ";".join(given)
        if self.until_exit:
            return "until_exit"
        budget = [f"budget_s={self.budget_s}"] if self.budget_s is not None else []
        return ";".join([f"steps={DEFAULT_STEPS}", f"quiet={DEFAULT_QUIET}", *budget])


def child_environment(
    *,
    installation: Installation,
    gpu: GPU,
    build: TorchBuild | None,
    limit_bytes: int | None,
    trace_path: Path,
    stop: StopRule,
    base: Mapping[str, str],
    values: Values | None = None,
    guesses: str | None = None,
    choices: str | None = None,
    books_path: Path | None = None,
    files: Files | None = None,
    layer: Layer | None = None,
) -> dict[str, str]:
    """`base` and what the stand-ins and the agent read. The user's own LD_AUDIT, LD_PRELOAD and PYTHONPATH
    stay, behind ours."""
    cuda = build.cuda if build else DEFAULT_CUDA
    driver = driver_version(cuda)
    preload = [str(path) for path in installation.preload(int(cuda.split(".")[0]))]
    kept = kept_folder(base)
    environment = dict(base)
    if hides_device(base.get("CUDA_VISIBLE_DEVICES")):
        del environment["CUDA_VISIBLE_DEVICES"]
    environment.update(
        LD_AUDIT=":".join(filter(None, [str(installation.audit), base.get("LD_AUDIT")])),
        LD_PRELOAD=":".join(filter(None, [*preload, base.get("LD_PRELOAD")])),
        PYTHONPATH=os.pathsep.join(
            filter(None, [str(installation.home / "engines/emulated/agent/inject"), base.get("PYTHONPATH")])
        ),
        TRITON_LIBCUDA_PATH=str(installation.libraries),
        VERITASEST_HOME=str(installation.home),
        VERITASEST_TRACE=str(trace_path),
        VERITASEST_BOOKS=str(books_path or ""),
        VERITASEST_DEVICE=device_text(gpu, build, limit_bytes, driver),
        VERITASEST_CUDNN_PROPERTIES=cudnn_properties(gpu, driver=driver),
        VERITASEST_PLAN_CACHE=str(kept / "cudnn-plans") if kept else "",
        VERITASEST_STOP=stop.text(),
        **(values or Values()).environment(),
    )
    if guesses:  # "low" or "high": sizes that are guesses take that bound
        environment["VERITASEST_GUESSES"] = guesses
    if choices:  # "none" or "all": what the program chooses by assumed values
        environment["VERITASEST_CHOICES"] = choices
    if files is not None and layer is not None:
        environment = _with_layer(environment, installation, files, layer)
    return environment


def _with_layer(
    environment: Mapping[str, str], installation: Installation, files: Files, layer: Layer
) -> dict[str, str]:
    """Zeros are written as holes in every layer; calls that name files are led there where no overlay does."""
    names = (INTERPOSER, SPARSE) if files.mode == "interposer" else (SPARSE,)
    libraries = [str(installation.libraries / name) for name in names if (installation.libraries / name).exists()]
    changed = {**environment, "LD_PRELOAD": ":".join([*libraries, environment["LD_PRELOAD"]])}
    if files.mode == "interposer":
        upper = layer.interposed_upper()
        changed.update(VERITASEST_LAYER=str(upper), VERITASEST_KEPT="\n".join((*layer.kept, *layer.wanted)))
    return changed


def device_text(gpu: GPU, build: TorchBuild | None, limit_bytes: int | None, driver: int) -> str:
    """The target GPU as native/core reads it: "key=value;key=value"."""
    facts = {
        "name": gpu.name,
        "count": DEVICE_COUNT,
        "cc": gpu.cc,
        "binary": _binary(gpu, build) or gpu.cc,
        "sms": gpu.sm_count,
        "driver": driver,
        "total": gpu.total_bytes,
        "context": gpu.context_bytes,
        "limit": "none" if limit_bytes is None else limit_bytes,
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
    return ";".join(f"{key}={value}" for key, value in facts.items())


def device_warnings(gpu: GPU, build: TorchBuild | None, base: Mapping[str, str]) -> tuple[str, ...]:
    """What the user should know about this pairing of GPU, PyTorch and environment."""
    warnings = []
    if build and minor_version(build.version) not in TESTED:
        tested = ", ".join(TESTED)
        warnings.append(f"torch {build.version} has not been tested with VeritasEst (tested: {tested}); going on")
    if build and _binary(gpu, build) is None:
        warnings.append(
            f"torch {build.version} carries no machine code for the {gpu.name} (compute capability "
            f"{gpu.compute_capability}): on the real GPU it would refuse to run"
        )
    visible = base.get("CUDA_VISIBLE_DEVICES")
    if hides_device(visible):
        warnings.append(f"CUDA_VISIBLE_DEVICES={visible!r} hides the only emulated GPU, 0; it was left out")
    return tuple(warnings)


def hides_device(visible: str | None) -> bool:
    """Whether this CUDA_VISIBLE_DEVICES leaves no emulated device to see. The driver stops at the first bad ordinal."""
    if visible is None:
        return False
    first = visible.split(",")[0].strip()
    return not (first.isdigit() and int(first) < DEVICE_COUNT)


def _binary(gpu: GPU, build: TorchBuild | None) -> int | None:
    version, cuda = (build.version, build.cuda) if build else ("", DEFAULT_CUDA)
    return binary_for(gpu.cc, architectures(version, cuda))
