"""The environment variables that VeritasEst reads, and those it sets in the job's processes: each is listed here, once.

This is documentation as data (docs/reference/environment-variables.md); tests compare it with the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Use(Enum):
    READ = "Read by VeritasEst"
    DEVELOPMENT = "For development and tests"
    SET = "Set in the job's processes"


@dataclass(frozen=True, kw_only=True)
class Variable:
    """`where`: the module that reads or sets it."""

    name: str
    use: Use
    where: str
    meaning: str


def _read(name: str, where: str, meaning: str) -> Variable:
    return Variable(name=name, use=Use.READ, where=where, meaning=meaning)


def _development(name: str, where: str, meaning: str) -> Variable:
    return Variable(name=name, use=Use.DEVELOPMENT, where=where, meaning=meaning)


def _set(name: str, where: str, meaning: str) -> Variable:
    return Variable(name=name, use=Use.SET, where=where, meaning=meaning)


_LIBRARIES = "engines/emulated/environment.py"
_CACHES = "engines/caches.py"
_LAYER = "launch/files/layer.py"
_TRACKERS = "launch/files/trackers.py"
_OFFLINE = "keeps the tracker from uploading the numbers of an emulated run"

VARIABLES = (
    _read("CUDA_VISIBLE_DEVICES", _LIBRARIES, "ignored, with a warning, if it hides the emulated GPU 0"),
    _read("HOME", _CACHES, "its folder .cache holds the cache if XDG_CACHE_HOME is not set"),
    _read(
        "PYTORCH_ALLOC_CONF",
        "spec/job.py",
        "settings of PyTorch's allocator, which the job obeys as on a GPU; listed in the report. The older name is "
        "PYTORCH_CUDA_ALLOC_CONF",
    ),
    _read("HF_HOME", _LAYER, "and HF_HUB_CACHE, TORCH_HOME: caches of downloads, which are kept"),
    _read("RANK", "engines/emulated/agent/recorder.py", "the rank of a process, as torchrun sets it"),
    _read("TMPDIR", _LAYER, "one of the places where the private layer of the job's files may be"),
    _read("VIRTUAL_ENV", "launch/command.py", "the environment whose Python runs a command such as `train.py`"),
    _read("XDG_CACHE_HOME", _CACHES, "where the cache of cuDNN's plans and Triton's kernels is (veritasest/)"),
    _read("XDG_CONFIG_HOME", "gpus/catalogue.py", "where the user's own GPUs are listed (veritasest/gpus.jsonl)"),
    _development(
        "VERITASEST_LIB", "engines/emulated/libraries.py", "folder of another build of the stand-in libraries"
    ),
    _development(
        "VERITASEST_DEBUG",
        "engines/emulated/agent/recorder.py",
        "if not empty, an error while an operator is computed on the CPU is raised in the job, instead of leaving the "
        "value unknown",
    ),
    _development(
        "VERITASEST_FILES",
        "launch/files/choose.py",
        "overlay, interposer, none or allowed: how the job's files are protected",
    ),
    _development("VERITASEST_ENGINE", "api.py", "emulated or scripted: the engine that runs the job"),
    _set(
        "VERITASEST_RUN",
        "launch/launcher.py",
        "path of the run's settings (run.json), which the stand-in libraries and the agent read",
    ),
    _set("LD_PRELOAD", _LIBRARIES, "the stand-in libraries, before the user's own value"),
    _set("LD_AUDIT", _LIBRARIES, "the audit module that redirects full paths of the real libraries to the stand-ins"),
    _set("PYTHONPATH", _LIBRARIES, "the folder of the agent's sitecustomize.py, before the user's own value"),
    _set("TRITON_LIBCUDA_PATH", _LIBRARIES, "leads Triton to the stand-in for the driver"),
    _set("TORCHINDUCTOR_CACHE_DIR", _CACHES, "an empty folder: torch.compile runs with a cold cache"),
    _set("TRITON_CACHE_DIR", _CACHES, "a cache apart from the user's own"),
    _set("WANDB_MODE", _TRACKERS, _OFFLINE),
    _set("MLFLOW_TRACKING_URI", _TRACKERS, f"only if it names a server: {_OFFLINE}"),
    _set("CLEARML_OFFLINE_MODE", _TRACKERS, _OFFLINE),
    _set("COMET_MODE", _TRACKERS, _OFFLINE),
    _set("COMET_START_ONLINE", _TRACKERS, _OFFLINE),
    _set("NEPTUNE_MODE", _TRACKERS, _OFFLINE),
    _set("SWANLAB_MODE", _TRACKERS, _OFFLINE),
)
