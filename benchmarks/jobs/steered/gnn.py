"""A graph network on sampled neighbourhoods: how many distinct nodes a batch has, only `torch.unique` can tell."""

import argparse
import json
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

FEATURES, CLASSES = 128, 47


class Layer(nn.Module):
    """GraphSAGE with the mean over incoming edges."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.own = nn.Linear(inputs, outputs)
        self.neighbours = nn.Linear(inputs, outputs, bias=False)

    def forward(self, x, source, target):
        total = torch.zeros_like(x).index_add_(0, target, x[source])
        count = torch.zeros(len(x), device=x.device).scatter_add_(0, target, torch.ones_like(target, dtype=x.dtype))
        return self.own(x) + self.neighbours(total / count.clamp(min=1)[:, None])


class Network(nn.Module):
    def __init__(self, hidden=256, layers=3):
        super().__init__()
        widths = [FEATURES, *[hidden] * (layers - 1), CLASSES]
        self.layers = nn.ModuleList(Layer(i, o) for i, o in pairwise(widths))

    def forward(self, x, source, target):
        for layer in self.layers[:-1]:
            x = F.dropout(F.relu(layer(x, source, target)), 0.5, self.training)
        return self.layers[-1](x, source, target)


def make_graph(nodes, edges):
    """Random edges as compressed rows: where the neighbours of each node start, and the neighbours."""
    source, target = torch.randint(nodes, (2, edges))
    order = torch.argsort(source)
    starts = torch.zeros(nodes + 1, dtype=torch.long)
    starts[1:] = torch.bincount(source, minlength=nodes).cumsum(0)
    return starts, target[order]


def sample(starts, neighbours, seeds, fanouts):
    """The edges of a few random neighbours of each node, hop by hop, with nodes numbered anew; seeds come first."""
    sources, targets, front = [], [], seeds
    for fanout in fanouts:
        degree = starts[front + 1] - starts[front]
        front, degree = front[degree > 0], degree[degree > 0]
        drawn = torch.randint(2**31, (len(front), fanout), device=front.device) % degree[:, None]
        found = neighbours[starts[front][:, None] + drawn]
        sources.append(found.flatten())
        targets.append(front.repeat_interleave(fanout))
        front = torch.unique(found)
    nodes, places = torch.unique(torch.cat([seeds, *sources, *targets]), return_inverse=True)
    counts = [len(seeds), sum(map(len, sources)), sum(map(len, targets))]
    seed_places, source_places, target_places = places.split(counts)
    return nodes, seed_places, source_places, target_places


def train(args):
    torch.manual_seed(0)
    starts, neighbours = (part.to(args.device) for part in make_graph(args.nodes, 10 * args.nodes))
    features = torch.randn(args.nodes, FEATURES).to(args.device)
    labels = torch.randint(CLASSES, (args.nodes,)).to(args.device)
    model = Network().to(args.device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(args.iters):
        seeds = torch.randperm(args.nodes)[: args.bs].to(args.device)
        nodes, seed_places, source, target = sample(starts, neighbours, seeds, args.fanouts)
        optimizer.zero_grad()
        scores = model(features[nodes], source, target)[seed_places]
        loss = F.cross_entropy(scores, labels[seeds])
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--fanouts", type=int, nargs="+", default=[10, 5, 5])
    parser.add_argument("--bs", type=int, default=1024, help="seeds of a batch")
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
