"""torch-preflight: `VRAMGuard`, its check inside a training script, on the live model.

It measures what one forward pass keeps for backward, of a module with one input. So the job's model is wrapped: what
the module gets is its first input, and the rest comes along.
"""

import torch
from adapter import Job, NoEstimateError, serve
from torch import nn
from torch_preflight import VRAMGuard
from torch_preflight.vram import OptimizerKind

PRECISIONS = {"fp32": "fp32", "bf16": "amp", "fp16": "amp", "pure_bf16": "pure-bf16"}


class OneInput(nn.Module):
    def __init__(self, model: nn.Module, positional: tuple, named: dict) -> None:
        super().__init__()
        self.model = model
        self.positional = positional[1:]
        self.named = named
        self.first_name = None if positional else next(iter(named))

    def forward(self, first: torch.Tensor):
        if self.first_name is None:
            return self.model(first, *self.positional, **self.named)
        return self.model(**{**self.named, self.first_name: first})


def estimate(job: Job) -> int:
    positional, named = job.inputs()
    module = OneInput(job.build(), positional, named)
    first = positional[0] if positional else next(iter(named.values()))
    guard = VRAMGuard(
        module,
        optimizer=job.optimizers(module.parameters())[0],
        batch_size=job.batch_size,
        precision=PRECISIONS[job.precision],
        max_vram="140GiB",
        example_input=first,
    )
    if job.optimizer == "muon":  # unknown to it, and treated as AdamW: Lion has as many states
        guard.config = guard.config.replace(optimizer=OptimizerKind.LION)
    if guard.activation_source != "measured":
        raise NoEstimateError("the forward pass could not be measured on the meta device")
    with guard:
        pass
    return guard.report.total - guard.report.breakdown.cuda_context  # the recorded truth is PyTorch's part alone


if __name__ == "__main__":
    serve(estimate, "torch-preflight")
