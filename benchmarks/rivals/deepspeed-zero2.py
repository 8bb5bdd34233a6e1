"""DeepSpeed: `estimate_zero2_model_states_mem_needs` for one GPU without offloading, 20 bytes for each parameter.

The formula behind `estimate_zero2_model_states_mem_needs_all_live`, which counts parameters by address (on the meta
device all have the same) and prints. It takes mixed precision and Adam for granted; DeepSpeed leaves activations out.
"""

from adapter import Job, serve
from deepspeed.runtime.zero.stage_1_and_2 import estimate_zero2_model_states_mem_needs


def estimate(job: Job) -> int:
    parameters = sum(p.numel() for p in job.build().parameters())
    _, gpu_bytes = estimate_zero2_model_states_mem_needs(parameters, cpu_offload=False)
    return gpu_bytes


if __name__ == "__main__":
    serve(estimate, "deepspeed")
