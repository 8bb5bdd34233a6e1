"""Adaptive depth: samples leave the network at the first confident head, or when their halting score is used up."""

import argparse
import json

import torch
import torch.nn.functional as F
from torch import nn

CLASSES = 10


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1),
            nn.GroupNorm(8, width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.GroupNorm(8, width),
        )

    def forward(self, x):
        return F.relu(x + self.net(x))


class ExitNetwork(nn.Module):
    """A head after every block; only samples that are not sure yet go on."""

    def __init__(self, width, depth, threshold):
        super().__init__()
        self.threshold = threshold
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.heads = nn.ModuleList(nn.Linear(width, CLASSES) for _ in range(depth))

    def forward(self, x, labels):
        x, loss, exits = self.stem(x), 0.0, []
        for block, head in zip(self.blocks, self.heads, strict=True):
            x = block(x)
            scores = head(x.mean((2, 3)))
            loss = loss + F.cross_entropy(scores, labels, reduction="sum")
            active = scores.softmax(1).amax(1) < self.threshold
            exits.append(int((~active).sum()))
            x, labels = x[active], labels[active]
            if len(x) == 0:
                break
        return loss / sum([*exits, len(x)])


class PonderNetwork(nn.Module):
    """One block again and again; each sample adds up halting shares and is done when they reach 1."""

    def __init__(self, width, depth):
        super().__init__()
        self.depth = depth
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.block = Block(width)
        self.halt = nn.Linear(width, 1)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x, labels):
        x = self.stem(x)
        halted = torch.zeros(len(x), device=x.device)
        result = torch.zeros(len(x), x.shape[1], device=x.device)
        steps = 0
        while (halted < 1).any() and steps < self.depth:
            going = (halted < 1).nonzero().squeeze(1)
            x = x.index_copy(0, going, self.block(x[going]))
            pooled = x[going].mean((2, 3))
            share = torch.minimum(self.halt(pooled).sigmoid().squeeze(1), 1 - halted[going])
            result = result.index_add(0, going, share[:, None] * pooled)
            halted = halted.index_add(0, going, share + 1e-6)
            steps += 1
        return F.cross_entropy(self.head(result), labels) + 0.01 * (1 - halted).mean()


def make_images(bs):
    """Noise of different contrast on different colours: white noise alone leaves all samples equally sure."""
    return torch.randn(bs, 3, 32, 32) * torch.rand(bs, 1, 1, 1) + 2 * torch.randn(bs, 3, 1, 1)


def train(args):
    torch.manual_seed(0)
    network = ExitNetwork(64, args.depth, args.threshold) if args.kind == "exit" else PonderNetwork(64, args.depth)
    model = network.to(args.device).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(args.iters):
        images = make_images(args.bs).to(args.device)
        labels = torch.randint(CLASSES, (args.bs,)).to(args.device)
        optimizer.zero_grad()
        loss = model(images, labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=["exit", "ponder"], default="exit")
    parser.add_argument("--threshold", type=float, default=0.25, help="the confidence at which a sample leaves")
    parser.add_argument("--depth", type=int, default=8, help="at most")
    parser.add_argument("--bs", type=int, default=256)
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
