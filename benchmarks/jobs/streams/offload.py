"""Activations wait in pinned host memory between the passes, copied out and in on a side stream."""

import argparse

import torch
from torch import nn


class Offload:
    def __init__(self, smallest):
        self.stream, self.smallest = torch.cuda.Stream(), smallest

    def pack(self, tensor):
        if not tensor.is_cuda or tensor.numel() < self.smallest or isinstance(tensor, nn.Parameter):
            return tensor
        host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            host.copy_(tensor, non_blocking=True)
            tensor.record_stream(self.stream)
        return host

    def unpack(self, kept):
        if kept.is_cuda:
            return kept
        with torch.cuda.stream(self.stream):
            tensor = kept.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.stream)
        tensor.record_stream(torch.cuda.current_stream())
        return tensor


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--smallest", type=int, default=1 << 20, help="elements of a tensor that is moved")
    args = parser.parse_args()
    torch.manual_seed(0)
    layers = [layer for _ in range(args.layers) for layer in (nn.Linear(args.width, args.width), nn.GELU())]
    model, offload = nn.Sequential(*layers).cuda(), Offload(args.smallest)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(args.steps):
        data = torch.randn(args.batch_size, args.width, device="cuda")
        with torch.autograd.graph.saved_tensors_hooks(offload.pack, offload.unpack):
            loss = model(data).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


if __name__ == "__main__":
    main()
