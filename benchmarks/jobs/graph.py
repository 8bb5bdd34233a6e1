"""Train a graph network to classify the nodes of a random graph: GCN, GAT or GIN, written with plain PyTorch."""

import argparse
import itertools

import torch
import torch.nn.functional as F
from common import Precision, add_training_options, make_optimizers
from torch import nn

CLASSES = 40
HEADS = 4  # of the GAT


class SparseGcnLayer(nn.Module):
    """The neighbours' sum as a product with the sparse adjacency matrix."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, adjacency):
        return torch.sparse.mm(adjacency, self.linear(x))


class GcnLayer(nn.Module):
    """The same sum with one message per edge."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, edges):
        source, target = edges
        x = self.linear(x)
        degree = x.new_zeros(len(x)).index_add(0, target, torch.ones_like(target, dtype=x.dtype)).clamp(min=1)
        weight = (degree[source] * degree[target]).rsqrt()
        return torch.zeros_like(x).index_add(0, target, x[source] * weight.unsqueeze(1).to(x.dtype))


class GatLayer(nn.Module):
    """Attention over the edges that end in a node, its softmax by scatter_reduce."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.heads = HEADS if outputs % HEADS == 0 else 1
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.from_source = nn.Parameter(torch.randn(self.heads, outputs // self.heads) * 0.1)
        self.from_target = nn.Parameter(torch.randn(self.heads, outputs // self.heads) * 0.1)

    def forward(self, x, edges):
        source, target = edges
        x = self.linear(x).unflatten(1, (self.heads, -1))
        score = (x * self.from_source).sum(-1)[source] + (x * self.from_target).sum(-1)[target]
        score = F.leaky_relu(score, 0.2).float()
        index = target.unsqueeze(1).expand_as(score)
        top = score.new_full((len(x), self.heads), float("-inf")).scatter_reduce(0, index, score.detach(), "amax")
        score = (score - top[target]).exp()
        total = score.new_zeros(len(x), self.heads).scatter_add(0, index, score)
        share = (score / (total[target] + 1e-9)).to(x.dtype)
        return torch.zeros_like(x).index_add(0, target, x[source] * share.unsqueeze(-1)).flatten(1)


class GinLayer(nn.Module):
    """The neighbours' sum, and a small network behind it."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.epsilon = nn.Parameter(torch.zeros(1))
        self.network = nn.Sequential(
            nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU(), nn.Linear(outputs, outputs)
        )

    def forward(self, x, edges):
        source, target = edges
        neighbours = torch.zeros_like(x).index_add(0, target, F.relu(x[source]))
        return self.network((1 + self.epsilon).to(x.dtype) * x + neighbours)


LAYERS = {"gcn-sparse": SparseGcnLayer, "gcn": GcnLayer, "gat": GatLayer, "gin": GinLayer}


class Network(nn.Module):
    def __init__(self, options):
        super().__init__()
        widths = [options.features, *[options.width] * (options.layers - 1), CLASSES]
        self.layers = nn.ModuleList(LAYERS[options.model](a, b) for a, b in itertools.pairwise(widths))

    def forward(self, x, graph):
        for layer in self.layers[:-1]:
            x = F.dropout(F.relu(layer(x, graph)), 0.5, self.training)
        return self.layers[-1](x, graph)


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=LAYERS, default="gcn")
    parser.add_argument("--degree", type=int, default=10, help="edges per node, on average")
    parser.add_argument("--features", type=int, default=128, help="of a node")
    parser.add_argument("--width", type=int, default=256, help="of the hidden layers")
    parser.add_argument("--layers", type=int, default=3)
    add_training_options(parser, optimizer="adam", batch_size=50_000)
    parser.description += " The batch is the whole graph: --batch-size is its number of nodes."
    return parser.parse_args(words)


def build(options):
    return Network(options)


def batch(options):
    """The positional inputs of the model: the nodes, and the edges or the adjacency matrix."""
    nodes = options.batch_size
    edges = torch.randint(nodes, (2, nodes * options.degree))
    if options.model == "gcn-sparse":
        weights = torch.full((edges.shape[1],), 1 / options.degree)
        edges = torch.sparse_coo_tensor(edges, weights, (nodes, nodes)).coalesce().to_sparse_csr()
    return torch.randn(nodes, options.features), edges


def main():
    options = parse()
    torch.manual_seed(0)
    precision = Precision(options.precision)
    model = build(options).to("cuda", precision.dtype).train()
    optimizers = make_optimizers(options.optimizer, model.parameters())
    features, graph = (x.cuda() for x in batch(options))
    features = features.to(precision.dtype)
    labels = torch.randint(CLASSES, (options.batch_size,)).cuda()
    for _ in range(options.iterations):
        for optimizer in optimizers:
            optimizer.zero_grad()
        with precision.autocast():
            loss = F.cross_entropy(model(features, graph), labels)
        precision.scaler.scale(loss).backward()
        precision.step(optimizers)
    model.eval()
    with torch.no_grad(), precision.autocast():
        right = (model(features, graph).argmax(1) == labels).float().mean()
    print(f"loss {loss.item():.3f}, right {right.item():.1%}")


if __name__ == "__main__":
    main()
