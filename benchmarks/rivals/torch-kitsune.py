"""torch-kitsune: `predict_memory`, which sums layer outputs found by tracing, and adds 15 % to everything.

It makes the model's one input itself, of random floats, and falls back to formulas per layer where the model cannot run
on that. An fp32 model with a half-precision input is such a case. So a job with autocast is asked about twice: for the
fp32 model, and for the model in half precision, whose activations are taken.
"""

from dataclasses import replace

import torch
from adapter import Job, serve
from kitsune.predict import PredictionResult, predict_memory
from kitsune.predict.estimator import OVERHEAD_FRACTION

OPTIMIZERS = {"sgdm": "sgd_momentum", "adamw_fused": "adamw", "adamw_loop": "adamw", "nadam": "adam"}
BY_STATES = {0: "none", 1: "sgd_momentum"}
KNOWN = ("sgd", "adam", "adamw", "adagrad", "rmsprop")
HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


def optimizer(job: Job) -> str:
    if job.optimizer in KNOWN:
        return job.optimizer
    return OPTIMIZERS.get(job.optimizer) or BY_STATES[job.states]


def predict(job: Job, model: torch.nn.Module) -> PredictionResult:
    size, *shape = job.first_shape
    dtype = next(p.dtype for p in model.parameters() if p.is_floating_point())
    with torch.device("meta"):  # its sample is made there too, so that tracing computes nothing
        return predict_memory(model, tuple(shape), size, dtype, optimizer=optimizer(job), training=True)


def estimate(job: Job) -> int:
    model = job.build()
    found = predict(job, model)
    if job.precision in HALF:
        activations = predict(job, model.to(HALF[job.precision])).activation_bytes
        overhead = (found.total_bytes - found.overhead_bytes - found.activation_bytes + activations) * OVERHEAD_FRACTION
        found = replace(found, activation_bytes=activations, overhead_bytes=int(overhead))
    return found.total_bytes


if __name__ == "__main__":
    serve(estimate, "torch-kitsune")
