"""One operation after the other, each with its own peak: those whose memory a library decides. One JSON line each."""

import json

import torch
import torch.nn.functional as F
from torch import nn

CUDA = "cuda"


def rand(*shape, **options):
    return torch.randn(*shape, device=CUDA, **options)


def train(module, *inputs):
    out = module.to(CUDA)(*inputs)
    out = out[0] if isinstance(out, tuple) else out
    out.float().sum().backward()


def positive(n):
    a = rand(n, n)
    return a @ a.T + n * torch.eye(n, device=CUDA)


def packed():
    lengths = torch.arange(50, 34, -1)
    sequence = nn.utils.rnn.pack_padded_sequence(rand(16, 50, 64), lengths, batch_first=True)
    lstm = nn.LSTM(64, 128, 2, batch_first=True, bidirectional=True).to(CUDA)
    lstm(sequence)[0].data.sum().backward()


def ctc():
    scores = rand(100, 16, 30, requires_grad=True).log_softmax(2)
    labels = torch.randint(1, 30, (16, 20), dtype=torch.int32)
    lengths = torch.full((16,), 100, dtype=torch.int32), torch.full((16,), 20, dtype=torch.int32)
    F.ctc_loss(scores, labels, *lengths).backward()


def sparse_product():
    places = torch.randint(0, 1000, (2, 5000))
    matrix = torch.sparse_coo_tensor(places, torch.ones(5000), (1000, 1000)).coalesce().to_sparse_csr().to(CUDA)
    return matrix @ rand(1000, 64)


def scaled_product(scales):
    a = torch.empty(1024, 512, device=CUDA).to(torch.float8_e4m3fn)
    b = torch.empty(2048, 512, device=CUDA).to(torch.float8_e4m3fn).t()
    scale_a, scale_b = (torch.ones(shape, device=CUDA) for shape in scales)
    return torch._scaled_mm(a, b, scale_a=scale_a, scale_b=scale_b, out_dtype=torch.bfloat16)


def channels_last(*shape):
    return rand(*shape).to(memory_format=torch.channels_last)


def half(*shape):
    return rand(*shape, dtype=torch.bfloat16)


OPERATIONS = {
    "fft": lambda: torch.fft.fft(rand(64, 4096, dtype=torch.complex64)),
    "rfft odd": lambda: torch.fft.rfft(rand(64, 4095)),
    "fft2": lambda: torch.fft.fft2(rand(8, 3, 224, 224)),
    "irfft2": lambda: torch.fft.irfft2(torch.fft.rfft2(rand(8, 3, 200, 300))),
    "fftn strided": lambda: torch.fft.fftn(rand(2, 33, 64, 65), dim=(1, 2, 3)),
    "fft prime": lambda: torch.fft.fft(rand(7, 10007, dtype=torch.complex64)),
    "svd": lambda: torch.linalg.svd(rand(300, 200)),
    "svd batched": lambda: torch.linalg.svd(rand(16, 24, 20)),
    "eigh": lambda: torch.linalg.eigh(positive(500)),
    "eigh batched": lambda: torch.linalg.eigh(rand(32, 20, 20)),
    "qr": lambda: torch.linalg.qr(rand(400, 300)),
    "cholesky": lambda: torch.linalg.cholesky(positive(700)),
    "solve": lambda: torch.linalg.solve(positive(600), rand(600, 50)),
    "inv": lambda: torch.linalg.inv(positive(800)),
    "lstsq": lambda: torch.linalg.lstsq(rand(500, 100), rand(500, 3)),
    "lu": lambda: torch.linalg.lu_factor(rand(512, 512)),
    "lu batched": lambda: torch.linalg.lu_factor(rand(20, 64, 64)),
    "slogdet": lambda: torch.linalg.slogdet(positive(256)),
    "sort rows": lambda: torch.sort(rand(1000, 5000)),
    "sort": lambda: torch.sort(rand(3000000)),
    "topk": lambda: torch.topk(rand(1000, 50000), 64),
    "cumsum rows": lambda: torch.cumsum(rand(4000, 4000), 1),
    "cumsum": lambda: torch.cumsum(rand(5000000), 0),
    "sparse product": sparse_product,
    "gru": lambda: train(nn.GRU(80, 256, 3, batch_first=True, bidirectional=True, dropout=0.1), rand(8, 200, 80)),
    "rnn": lambda: train(nn.RNN(32, 64, 1), rand(30, 5, 32)),
    "lstm projection": lambda: train(nn.LSTM(128, 512, 2, proj_size=128), rand(40, 12, 128)),
    "lstm packed": packed,
    "ctc": ctc,
    "conv3d": lambda: train(nn.Conv3d(16, 32, 3, padding=1), rand(4, 16, 16, 56, 56, requires_grad=True)),
    "transposed": lambda: train(nn.ConvTranspose2d(64, 32, 4, 2, 1), rand(8, 64, 56, 56, requires_grad=True)),
    "conv1d": lambda: train(nn.Conv1d(80, 512, 5, 2), rand(16, 80, 1000, requires_grad=True)),
    "depthwise": lambda: train(nn.Conv2d(96, 96, 7, padding=3, groups=96), rand(16, 96, 56, 56, requires_grad=True)),
    "batch norm channels last": lambda: train(nn.BatchNorm2d(64), channels_last(16, 64, 56, 56)),
    "grid sample": lambda: F.grid_sample(rand(4, 3, 128, 128), rand(4, 64, 64, 2), align_corners=False),
    "attention": lambda: train(nn.MultiheadAttention(256, 8, batch_first=True), *[rand(8, 200, 256)] * 3),
    "transformer layer": lambda: train(nn.TransformerEncoderLayer(256, 8, batch_first=True), rand(8, 200, 256)),
    "layer norm": lambda: train(nn.LayerNorm(1024), rand(64, 512, 1024)),
    "group norm": lambda: train(nn.GroupNorm(32, 256), rand(8, 256, 64, 64)),
    "instance norm": lambda: train(nn.InstanceNorm2d(64, affine=True), rand(8, 64, 64, 64)),
    "embedding bag": lambda: train(nn.EmbeddingBag(10000, 64), torch.randint(10000, (256, 20), device=CUDA)),
    "fp8 product": lambda: scaled_product([(1,), (1,)]),
    "fp8 product by rows": lambda: scaled_product([(1024, 1), (1, 2048)]),
    "linear with bias": lambda: F.linear(half(64, 512), half(2048, 512), half(2048)),
    "linear with gelu": lambda: torch._addmm_activation(half(2048), half(64, 512), half(512, 2048), use_gelu=True),
}


def main():
    torch.manual_seed(0)  # how many places of the sparse matrix coincide is chance otherwise
    for name, operation in OPERATIONS.items():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        operation()
        peaks = {
            "allocated_peak": torch.cuda.max_memory_allocated() - before,
            "reserved_peak": torch.cuda.max_memory_reserved(),
        }
        print(json.dumps({"operation": name, **peaks}), flush=True)


if __name__ == "__main__":
    main()
