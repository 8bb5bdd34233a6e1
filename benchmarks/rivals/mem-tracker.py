"""PyTorch's own `MemTracker` under `FakeTensorMode`: two training steps of which no kernel runs.

On fake CUDA tensors the backward pass needs a driver, so the tensors are fake CPU ones. The loop is written for it
here: two steps with `reset_mod_stats` between them, as torchtitan does; optimizer state is there from the second on.
"""

import contextlib

import torch
from adapter import Job, replace_tensors, serve
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


def train_step(job: Job, tracker: MemTracker, model, optimizers, positional: tuple, named: dict) -> None:
    place = getattr(job.options, "zero_grad", "start")

    def zero_grad(places: tuple[str, ...]) -> None:
        for optimizer in optimizers if place in places else ():
            optimizer.zero_grad(set_to_none=place != "zero")

    half = HALF.get(job.precision)
    zero_grad(("start", "zero"))
    for part in range(min(2, getattr(job.options, "accumulate", 1))):  # the third batch needs what the second does
        with torch.autocast("cpu", half) if half else contextlib.nullcontext():
            loss = job.loss(model(*positional, **named))
        if part == 0:
            zero_grad(("backward",))
        loss.backward()
        tracker.reset_mod_stats()
    for optimizer in optimizers:
        optimizer.step()
    zero_grad(("end",))


def estimate(job: Job) -> int:
    model = job.build()
    with FakeTensorMode(), torch.device("cpu"):
        # Not built of fake tensors: copying those, as torch.nn.Transformer does with its layers, crashes.
        replace_tensors(model, lambda tensor: torch.empty(tensor.shape, dtype=tensor.dtype))
        average = [torch.empty_like(p) for p in model.parameters()] if getattr(job.options, "ema", False) else []
        positional, named = job.inputs("cpu")
        optimizers = job.optimizers(model.parameters())
        tracker = MemTracker()
        tracker.track_external(model, *optimizers, *positional, *named.values(), *average)
        with tracker:
            for _ in range(2):
                train_step(job, tracker, model, optimizers, positional, named)
        return sum(device["Total"] for device in tracker.get_tracker_snapshot("peak").values())


if __name__ == "__main__":
    serve(estimate, "torch")
