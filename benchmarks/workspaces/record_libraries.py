"""CUDA context and library overhead, step by step, with nothing else on the device.

    python -m benchmarks.workspaces.record_libraries > benchmarks/workspaces/truth/h200_libraries.jsonl

Runs on a GPU and on the emulated device. A line has the bytes that are missing from the device though PyTorch's
allocator does not hold them; the first line is the provenance.
"""

import json
import threading

import torch
import torch.nn.functional as F
from torch import nn

STEPS = {}


def step(function):
    STEPS[function.__name__] = function
    return function


def images():
    return torch.randn(8, 64, 56, 56, device="cuda")


def forward(module, given):
    return module.cuda()(given).sum()


@step
def context():
    torch.empty(1, device="cuda")


@step
def first_kernels():
    torch.zeros(512, 1024, device="cuda").add(1).sum()


@step
def cublas():
    forward(nn.Linear(1024, 1024, bias=False), torch.zeros(512, 1024, device="cuda"))


@step
def cublas_backward():  # in autograd's thread, with a handle of its own
    forward(nn.Linear(1024, 1024, bias=False), torch.zeros(512, 1024, device="cuda")).backward()


@step
def cublas_other_thread():
    thread = threading.Thread(target=cublas)
    thread.start()
    thread.join()


@step
def cublas_lt():
    forward(nn.Linear(1024, 1024), torch.zeros(512, 1024, device="cuda")).backward()


@step
def cudnn():
    forward(nn.Conv2d(64, 64, 3), images())


@step
def cudnn_backward():
    forward(nn.Conv2d(64, 64, 3), images()).backward()


@step
def attention():
    heads = torch.randn(4, 8, 512, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    F.scaled_dot_product_attention(heads, heads, heads).sum().backward()


@step
def optimizer():
    for fused in (False, True):
        weight = nn.Parameter(torch.zeros(64, device="cuda"))
        weight.grad = torch.zeros_like(weight)
        torch.optim.AdamW([weight], fused=fused).step()


@step
def cusolver():
    torch.linalg.cholesky(torch.eye(64, device="cuda"))


@step
def cufft():
    torch.fft.fft(torch.zeros(512, 1024, device="cuda"))


@step
def cusparse():
    torch.eye(64, device="cuda").to_sparse_csr() @ torch.eye(64, device="cuda")


@step
def streams():
    torch.cuda.Stream()


def outside_bytes():
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    return total - free - torch.cuda.memory_reserved()


def main():
    gpu = torch.cuda.get_device_name()
    print(json.dumps({"gpu": gpu, "torch": torch.__version__, "cudnn": torch.backends.cudnn.version()}))
    for name, run in STEPS.items():
        run()
        print(json.dumps({"after": name, "outside_bytes": outside_bytes()}), flush=True)


if __name__ == "__main__":
    main()
