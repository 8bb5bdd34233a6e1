"""FakeGPU: `estimate_module_memory`, the lifetimes of the tensors in a traced graph of forward and backward.

Its other way, running a script with the mathematics on the CPU, takes minutes to hours at these sizes.
"""

import contextlib

import torch
from adapter import Job, serve
from fakegpu import estimate_module_memory
from torch import nn

BY_STATES = {0: "sgd", 1: "sgd_momentum", 2: "adam"}
KNOWN = ("sgd", "adam", "adamw")
HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


class WithLoss(nn.Module):
    """The loss is all that comes out, as in the jobs' loops, where nothing else is kept. Tracing has no CUDA: autocast
    is that of the CPU."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.job = job
        self.model = job.build()

    def forward(self, *positional, **named) -> torch.Tensor:
        half = HALF.get(self.job.precision)
        with torch.autocast("cpu", half) if half else contextlib.nullcontext():
            return self.job.loss(self.model(*positional, **named))


def estimate(job: Job) -> int:
    positional, named = job.inputs()
    report = estimate_module_memory(
        WithLoss(job),
        positional,
        example_kwargs=named,
        mode="training",
        loss_fn=lambda loss: loss,
        optimizer=job.optimizer if job.optimizer in KNOWN else BY_STATES[job.states],
        target_device="cuda",
        target_profile="h200",
    )
    return report["estimated_peak_bytes"]


if __name__ == "__main__":
    serve(estimate, "fakegpu")
