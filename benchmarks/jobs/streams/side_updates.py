"""Every parameter is updated on a side stream as soon as its gradient is there, while the backward pass goes on."""

import argparse

import torch
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--read", action="store_true", help="read the loss of every step")
    args = parser.parse_args()
    torch.manual_seed(0)
    layers = [nn.TransformerEncoderLayer(args.width, 8, 4 * args.width, batch_first=True) for _ in range(args.layers)]
    model, side = nn.Sequential(*layers).cuda(), torch.cuda.Stream()
    optimizers = {p: torch.optim.AdamW([p], lr=1e-4, foreach=False) for p in model.parameters()}

    def update(parameter):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            parameter.grad.record_stream(side)
            optimizers[parameter].step()
            optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(update)
    for step in range(args.steps):
        loss = model(torch.randn(args.batch_size, args.length, args.width, device="cuda")).square().mean()
        loss.backward()
        torch.cuda.current_stream().wait_stream(side)
        if args.read:
            print(f"step {step}: {loss.item():.3f}")
    print(f"{loss.item():.3f}")


if __name__ == "__main__":
    main()
