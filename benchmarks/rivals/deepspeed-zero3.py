"""DeepSpeed: `estimate_zero3_model_states_mem_needs` for one GPU without offloading, 18 bytes for each parameter.

And 4 bytes for each of the largest layer, which ZeRO-3 gathers. See deepspeed-zero2.py for what it takes for granted.
"""

from adapter import Job, serve
from deepspeed.runtime.zero.stage3 import estimate_zero3_model_states_mem_needs


def estimate(job: Job) -> int:
    model = job.build()
    parameters = sum(p.numel() for p in model.parameters())
    largest = max(sum(p.numel() for p in module.parameters(recurse=False)) for module in model.modules())
    _, gpu_bytes, _ = estimate_zero3_model_states_mem_needs(
        parameters, largest, cpu_offload=False, cpu_offload_params=False
    )
    return gpu_bytes


if __name__ == "__main__":
    serve(estimate, "deepspeed")
