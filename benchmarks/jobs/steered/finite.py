"""A loop that stops at the first loss or gradient that is not finite, as careful users write it."""

import argparse
import json
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import nn


def build(name):
    if name == "mlp":
        return nn.Sequential(
            nn.Flatten(),
            nn.Linear(3 * 64 * 64, 2048),
            nn.GELU(),
            nn.Linear(2048, 2048),
            nn.GELU(),
            nn.Linear(2048, 100),
        )
    layers = []
    for i, o in [(3, 64), (64, 128), (128, 256)]:
        layers += [nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(8, o), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 100))


def train(args):
    torch.manual_seed(0)
    model = build(args.model).to(args.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    half = args.prec == "fp16"
    scaler = torch.amp.GradScaler(args.device, enabled=half)
    for step in range(args.iters):
        x = torch.randn(args.bs, 3, 64, 64).to(args.device)
        y = torch.randint(100, (args.bs,)).to(args.device)
        optimizer.zero_grad()
        with torch.autocast(args.device, dtype=torch.float16) if half else nullcontext():
            loss = F.cross_entropy(model(x), y)
        if not torch.isfinite(loss):
            raise FloatingPointError(f"loss {loss.item()} in step {step}")
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if not half:  # the scaler skips such a step by itself
            for name, p in model.named_parameters():
                assert not torch.isnan(p.grad).any(), name
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=not half)
        scaler.step(optimizer)
        scaler.update()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=["mlp", "conv"], default="mlp")
    parser.add_argument("--prec", choices=["fp32", "fp16"], default="fp32")
    parser.add_argument("--bs", type=int, default=256)
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
