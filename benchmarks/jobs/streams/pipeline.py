"""A model in two halves, each on a stream of its own; micro-batches go from one to the other with record_stream."""

import argparse

import torch
from torch import nn


def half(width, layers):
    parts = [nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True) for _ in range(layers)]
    return nn.Sequential(*parts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=3, help="of each half")
    parser.add_argument("--batch-size", type=int, default=8, help="of a micro-batch")
    parser.add_argument("--micro", type=int, default=4)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--read", action="store_true", help="read the loss of every step")
    args = parser.parse_args()
    torch.manual_seed(0)
    first, second = half(args.width, args.layers).cuda(), half(args.width, args.layers).cuda()
    optimizer = torch.optim.AdamW([*first.parameters(), *second.parameters()], lr=1e-4)
    streams = torch.cuda.Stream(), torch.cuda.Stream()
    for step in range(args.steps):
        losses = []
        for stream in streams:
            stream.wait_stream(torch.cuda.current_stream())
        for _ in range(args.micro):
            with torch.cuda.stream(streams[0]):
                hidden = first(torch.randn(args.batch_size, args.length, args.width, device="cuda"))
            streams[1].wait_stream(streams[0])
            with torch.cuda.stream(streams[1]):
                hidden.record_stream(streams[1])
                losses.append(second(hidden).square().mean())
        torch.cuda.current_stream().wait_stream(streams[1])
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if args.read:
            print(f"step {step}: {loss.item():.3f}")
    print(f"{loss.item():.3f}")


if __name__ == "__main__":
    main()
