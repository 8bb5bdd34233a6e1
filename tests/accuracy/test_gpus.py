"""The same job on other GPUs. None of these numbers was compared with hardware: only the H200 was."""

from estimating import run_estimate
from joblists import Job

# Three of the six that were tried: cuDNN compiles kernels for each, which takes its time.
ARCHITECTURES = {"t4": 75, "a100-40gb": 80, "b200": 100}


def test_every_architecture_gets_its_own_convolutions():
    job = Job("truth_job.py --model resnet18 --bs 16 --opt sgdm --iters 2", "tests")
    peaks = {gpu: run_estimate(job, gpu=gpu)["peak"] for gpu in ARCHITECTURES}
    allocated = [peak["allocated_bytes"] for peak in peaks.values()]
    # The same tensors everywhere, other workspaces: allocated peaks close together, yet no two of them alike.
    assert max(allocated) <= 1.25 * min(allocated)
    assert len({(peak["allocated_bytes"], peak["reserved_bytes"]) for peak in peaks.values()}) == len(ARCHITECTURES)
