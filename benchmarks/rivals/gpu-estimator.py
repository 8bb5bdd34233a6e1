"""gpu-estimator: `GPUEstimator.estimate`, a formula of parameters, batch size and sequence length, for token models."""

from adapter import Job, NoEstimateError, serve
from gpu_estimator import GPUEstimator

PRECISIONS = {"pure_bf16": "bf16"}


def estimate(job: Job) -> int:
    if job.length is None:
        raise NoEstimateError("its formula wants the tokens of a sequence, and this model has none")
    parameters = sum(p.numel() for p in job.build().parameters())
    found = GPUEstimator().estimate(
        parameters,
        batch_size=job.batch_size,
        sequence_length=job.length,
        precision=PRECISIONS.get(job.precision, job.precision),
        optimizer="adam" if job.states == 2 else "sgd",  # its two kinds; its SGD has momentum
        gradient_checkpointing=job.checkpointed,
        gpu_memory_gb=141,
    )
    return int(found.total_memory_gb * 2**30)


if __name__ == "__main__":
    serve(estimate, "gpu-estimator")
