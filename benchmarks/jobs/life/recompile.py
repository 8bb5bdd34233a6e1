"""A compiled model that meets new shapes on its way: other lengths, an evaluation, a shorter last batch."""

import argparse

import torch
import torch.nn.functional as F
from parts import GPT, Amp, convolutions
from torch import nn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["gpt", "cnn", "mlp"], default="mlp")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[256, 512, 1024])
    parser.add_argument("--steps", type=int, default=6, help="with each batch size")
    parser.add_argument("--eval-batch-size", type=int, default=2048)
    parser.add_argument("--dynamic", choices=["auto", "yes", "no"], default="auto")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.model == "gpt":
        model = GPT(8000, 256, 384, 2, 6)
    elif args.model == "cnn":
        pooled = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)]
        model = nn.Sequential(convolutions(3, 64), nn.MaxPool2d(2), convolutions(64, 128), *pooled)
    else:
        model = nn.Sequential(nn.Linear(2048, 4096), nn.GELU(), nn.LayerNorm(4096), nn.Linear(4096, 10))
    model, amp = model.cuda(), Amp(args.precision)
    compiled = torch.compile(model, dynamic={"auto": None, "yes": True, "no": False}[args.dynamic])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def loss_of(count):
        if args.model == "gpt":
            text = torch.randint(8000, (count, 257)).cuda()
            return compiled(text[:, :-1], text[:, 1:])[1]
        shape = (count, 3, 64, 64) if args.model == "cnn" else (count, 2048)
        return F.cross_entropy(compiled(torch.rand(shape).cuda()), torch.randint(10, (count,)).cuda())

    for size in args.batch_sizes:
        for step in range(args.steps):
            with amp.autocast():
                loss = loss_of(size if step < args.steps - 1 else size // 2 + 1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"batch {size}: {loss.item():.3f}")
    model.eval()
    with torch.no_grad(), amp.autocast():
        print(f"evaluation {loss_of(args.eval_batch_size).item():.3f}")


if __name__ == "__main__":
    main()
