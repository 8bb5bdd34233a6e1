"""What every rival gets: the model, the inputs and the training options of a job, taken from the job's own script.

A rival cannot run a training script, so it gets the best case: the script's parts. A rival's file defines
`estimate(job) -> bytes` and calls `serve`, which prints one JSON line per job line. `run.py` starts it as a script
in the rival's own environment, with the job scripts on PYTHONPATH.
"""

import contextlib
import gc
import importlib
import json
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from types import ModuleType
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

# Tensors of a parameter's size that the optimizer keeps: the textbook's number.
STATES = {"sgd": 0, "sgdm": 1, "rmsprop": 1, "adagrad": 1, "muon": 1, "adafactor": 0}
STATES |= dict.fromkeys(["adam", "adamw", "adamw_fused", "adamw_loop", "nadam"], 2)


class NoEstimateError(Exception):
    """This rival has no answer for this job, and the message says why."""


@dataclass(frozen=True, kw_only=True)
class Job:
    line: str
    script: ModuleType
    options: Any

    @property
    def optimizer(self) -> str:
        """As the job scripts call it; see common.py."""
        return getattr(self.options, "optimizer", "adam")

    @property
    def states(self) -> int:
        return STATES[self.optimizer]

    @property
    def precision(self) -> str:
        """fp32 (with or without TF32: the bytes are the same), bf16 or fp16 for autocast, or pure_bf16."""
        return getattr(self.options, "precision", "fp32").replace("no_tf32", "fp32")

    @property
    def batch_size(self) -> int:
        return self.options.batch_size

    @property
    def checkpointed(self) -> bool:
        return getattr(self.options, "mode", "full") == "checkpointed"

    def build(self, device: str = "meta", *, cast: bool = True) -> nn.Module:
        """On the meta device there are shapes and no weights, so that even billions of parameters cost nothing."""
        model = self._build_on_meta() if device == "meta" else self._build(device)
        return model.to(torch.bfloat16) if cast and self.precision == "pure_bf16" else model

    def _build(self, device: str) -> nn.Module:
        with torch.device(device):
            return self.script.build(self.options).train()

    def _build_on_meta(self) -> nn.Module:
        try:
            return self._build("meta")
        except (RuntimeError, NotImplementedError):  # RegNet computes its widths with tensors
            return replace_tensors(self._build("cpu"), lambda tensor: tensor.detach().to("meta"))

    def inputs(self, device: str = "meta") -> tuple[tuple, dict]:
        """Positional and named inputs of the model."""
        with torch.device(device):
            batch = self.script.batch(self.options)
        named = dict(batch) if isinstance(batch, dict) else {}
        positional = () if isinstance(batch, dict) else tuple(batch)
        return tuple(map(self._cast, positional)), {name: self._cast(value) for name, value in named.items()}

    def _cast(self, value: Any) -> Any:
        floating = torch.is_tensor(value) and value.is_floating_point()
        return value.to(torch.bfloat16) if floating and self.precision == "pure_bf16" else value

    @cached_property
    def first_shape(self) -> tuple[int, ...]:
        positional, named = self.inputs()
        return tuple(next(iter([*positional, *named.values()])).shape)

    @property
    def length(self) -> int | None:
        """Tokens of a sequence, where the inputs are tokens."""
        return getattr(self.options, "length", None) if len(self.first_shape) == 2 else None

    def optimizers(self, parameters) -> list[torch.optim.Optimizer]:
        return importlib.import_module("common").make_optimizers(self.optimizer, parameters)

    def loss(self, output: Any) -> torch.Tensor:
        """Of the script where it has a function for it, or of the model where it is Hugging Face's."""
        if getattr(output, "loss", None) is not None:
            return output.loss
        if hasattr(self.script, "loss_of"):
            return self.script.loss_of(output, self.script.answers(self.options, self.batch_size))
        if torch.is_tensor(output) and output.ndim == 2:
            return F.cross_entropy(output, torch.zeros(len(output), dtype=torch.long, device=output.device))
        raise NoEstimateError(f"no loss is known for an output of type {type(output).__name__}")


def replace_tensors(model: nn.Module, make: Callable[[torch.Tensor], torch.Tensor]) -> nn.Module:
    """Every parameter and buffer; what several modules share is made once, and they share it again."""
    made: dict[torch.Tensor, torch.Tensor] = {}
    for module in model.modules():
        for tensors in (module._parameters, module._buffers):
            for name, old in tensors.items():
                if old is not None and old not in made:
                    new = make(old)
                    made[old] = nn.Parameter(new, old.requires_grad) if isinstance(old, nn.Parameter) else new
                tensors[name] = made.get(old)
    return model


def state_bytes(job: Job, model: nn.Module) -> tuple[int, int]:
    """Gradients and optimizer state by the textbook: as large as the trained parameters, once and `states` times."""
    trained = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
    return trained, job.states * trained


class Stopwatch:
    """The shorter of duration and processor time: other programs' load is not counted, nor a second thread's work."""

    def __init__(self) -> None:
        self._begun = time.monotonic(), time.process_time()

    def seconds(self) -> float:
        return min(time.monotonic() - self._begun[0], time.process_time() - self._begun[1])


class Scripts:
    """The job scripts, each imported once, and how long that took: a separate process would pay it every time."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def read(self, line: str) -> Job:
        words = shlex.split(line)
        while "=" in words[0]:  # settings of PyTorch's allocator: no rival considers them
            words.pop(0)
        name = words[0].removesuffix(".py")
        watch = Stopwatch()
        script = importlib.import_module(name)
        self.seconds.setdefault(name, watch.seconds())
        return Job(line=line, script=script, options=script.parse(words[1:]))


def why_not(error: BaseException) -> str:
    text = next(iter(str(error).strip().splitlines()), "")
    return text if isinstance(error, NoEstimateError) else f"{type(error).__name__}: {text}"[:300]


def answer(estimate: Callable[[Job], int], job: Job) -> dict:
    try:
        return {"estimate_bytes": int(estimate(job)), "why": None}
    except Exception as error:  # a rival may fail in any way: that is a result too
        return {"estimate_bytes": None, "why": why_not(error)}


def serve(estimate: Callable[[Job], int], package: str) -> None:
    """One line on stdout for each job; what the rival itself prints goes to stderr.

    The seconds of a job are those of a run for it alone: loading Python's modules, then building and estimating.
    """
    loaded = time.process_time()
    scripts = Scripts()
    for line in sys.argv[1:]:
        with contextlib.redirect_stdout(sys.stderr):
            job = scripts.read(line)
            watch = Stopwatch()
            found = answer(estimate, job)
        seconds = loaded + scripts.seconds[job.script.__name__] + watch.seconds()
        print(json.dumps({"job": line, "version": version(package), **found, "seconds": round(seconds, 2)}), flush=True)
        gc.collect()
