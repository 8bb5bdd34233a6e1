"""vram-check: `analyze`, which takes activations for twice the parameters, times the batch."""

from adapter import Job, serve
from vram_check import analyze

BY_STATES = {0: "none", 1: "sgd", 2: "adam"}
DTYPES = {"fp32": "fp32", "bf16": "bf16", "fp16": "fp16", "pure_bf16": "bf16"}


def estimate(job: Job) -> int:
    """Its `sgd` is the one with momentum: SGD without goes by `none`, which has no state."""
    found = analyze(
        job.build(), batch_size=job.batch_size, dtype=DTYPES[job.precision], optimizer=BY_STATES[job.states]
    )
    frozen = found["frozen"]["frozen_bytes"] if found["frozen"] else 0
    return found["estimate"].total_bytes + frozen


if __name__ == "__main__":
    serve(estimate, "vram-check")
