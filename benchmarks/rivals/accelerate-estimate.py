"""accelerate: the column "Training using Adam" of `accelerate estimate-memory`, from the same two functions.

Four times the weights, or twice under mixed precision. It knows no batch, no activations and no other optimizer.
"""

from accelerate.commands.estimate import estimate_training_usage
from accelerate.utils import calculate_maximum_sizes
from adapter import Job, serve

# A model that is bf16 altogether has no fp32 copy: its own size, as without mixed precision.
MIXED = {"bf16": "bfloat16", "fp16": "float16"}


def estimate(job: Job) -> int:
    size, _ = calculate_maximum_sizes(job.build())
    return max(estimate_training_usage(size, MIXED.get(job.precision, "float32")).values())


if __name__ == "__main__":
    serve(estimate, "accelerate")
