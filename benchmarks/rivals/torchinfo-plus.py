"""torchinfo: sizes of inputs, parameters and layer outputs (twice, for their gradients). It knows no optimizer.

Gradients of the parameters and optimizer state are added by the textbook.
"""

from adapter import Job, serve, state_bytes
from torchinfo import ModelStatistics, summary


def summarise(job: Job, device: str, samples: int | None = None) -> ModelStatistics:
    positional, named = job.inputs(device)
    inputs = {name: value[:samples] for name, value in named.items()} or [value[:samples] for value in positional]
    return summary(job.build(device), input_data=inputs, mode="train", verbose=0, device=device)


def estimate(job: Job) -> int:
    gradients, states = state_bytes(job, model := job.build())
    try:
        found, times = summarise(job, "meta"), 1
    except RuntimeError:  # the model reads values: real weights and one sample, which stands for all
        if sum(p.numel() for p in model.parameters()) > 1.5e9:
            raise
        found, times = summarise(job, "cpu", samples=1), job.batch_size
    per_batch = times * (found.total_input + found.total_output_bytes)
    return per_batch + found.total_param_bytes + gradients + states


if __name__ == "__main__":
    serve(estimate, "torchinfo")
