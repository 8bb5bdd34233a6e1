"""The same job on other GPUs. None of these numbers was compared with hardware: only the H200 was."""

from benchmarks.estimate.fields import peak_allocated_bytes, peak_reserved_bytes
from benchmarks.estimate.one_job import run_estimate
from benchmarks.job_lists import Job

# Three of the six that were tried: cuDNN compiles kernels for each, which is slow.
ARCHITECTURES = {"t4": 75, "a100-40gb": 80, "b200": 100}


def test_every_architecture_gets_its_own_convolutions():
    job = Job("truth_job.py --model resnet18 --bs 16 --opt sgdm --iters 2", "tests")
    estimates = [run_estimate(job, gpu=gpu) for gpu in ARCHITECTURES]
    allocated = [peak_allocated_bytes(estimate) for estimate in estimates]
    # The same tensors on every GPU, but other workspaces: peaks that are close to each other, and all different.
    assert max(allocated) <= 1.25 * min(allocated)
    reserved = [peak_reserved_bytes(estimate) for estimate in estimates]
    assert len(set(zip(allocated, reserved, strict=True))) == len(ARCHITECTURES)
