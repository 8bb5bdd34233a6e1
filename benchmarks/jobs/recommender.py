"""Train a recommender with large embedding tables: DLRM-like on clicks, or two towers with an in-batch softmax."""

import argparse
import itertools

import torch
import torch.nn.functional as F
from common import Precision, add_training_options, make_optimizers
from torch import nn

NUMBERS = 13  # dense features of a sample, as in Criteo's data


def mlp(*widths):
    layers = [layer for a, b in itertools.pairwise(widths) for layer in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def table(options):
    if options.hot > 1:
        return nn.EmbeddingBag(options.rows, options.width, mode="sum", sparse=bool(options.sparse))
    return nn.Embedding(options.rows, options.width, sparse=bool(options.sparse))


class Dlrm(nn.Module):
    """Every pair of embeddings multiplied, and a network on top of the products."""

    def __init__(self, options):
        super().__init__()
        self.tables = nn.ModuleList(table(options) for _ in range(options.tables))
        self.bottom = mlp(NUMBERS, 512, 256, options.width)
        vectors = options.tables + 1
        self.top = mlp(options.width + vectors * (vectors - 1) // 2, 1024, 1024, 512, 256, 1)
        self.register_buffer("pairs", torch.tril_indices(vectors, vectors, -1), persistent=False)

    def forward(self, numbers, categories):
        dense = self.bottom(numbers)
        looked_up = [rows(categories[:, i]) for i, rows in enumerate(self.tables)]
        vectors = torch.stack([dense, *(x.to(dense.dtype) for x in looked_up)], dim=1)
        products = vectors @ vectors.transpose(1, 2)
        return self.top(torch.cat([dense, products[:, self.pairs[0], self.pairs[1]]], dim=1)).squeeze(1)


class TwoTower(nn.Module):
    """Users and items apart; every other item of the batch is a negative one."""

    def __init__(self, options):
        super().__init__()
        self.users, self.items = table(options), table(options)
        self.user_tower = mlp(options.width, 1024, 512, 128)
        self.item_tower = mlp(options.width, 1024, 512, 128)

    def forward(self, users, items):
        users = F.normalize(self.user_tower(self.users(users)), dim=-1)
        items = F.normalize(self.item_tower(self.items(items)), dim=-1)
        return users @ items.t() / 0.05


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=["dlrm", "two-tower"], default="dlrm")
    parser.add_argument("--rows", type=int, default=500_000, help="of each table")
    parser.add_argument("--tables", type=int, default=26, help="of the DLRM")
    parser.add_argument("--width", type=int, default=64, help="of an embedding")
    parser.add_argument("--hot", type=int, default=1, help="categories per sample and table; above 1, EmbeddingBags")
    parser.add_argument("--sparse", choices=["sparse_adam", "sgd"], help="sparse gradients, and the tables' optimizer")
    add_training_options(parser, optimizer="adam", batch_size=8192)
    return parser.parse_args(words)


def build(options):
    return Dlrm(options) if options.model == "dlrm" else TwoTower(options)


def batch(options):
    """The positional inputs of the model."""
    many = (options.hot,) if options.hot > 1 else ()
    if options.model == "two-tower":
        return tuple(torch.randint(options.rows, (options.batch_size, *many)) for _ in range(2))
    categories = torch.randint(options.rows, (options.batch_size, options.tables, *many))
    return torch.rand(options.batch_size, NUMBERS), categories


def split_optimizers(model, options):
    """Sparse gradients need an optimizer of their own: most take dense ones only."""
    if not options.sparse:
        return make_optimizers(options.optimizer, model.parameters())
    tables = [m.weight for m in model.modules() if isinstance(m, nn.Embedding | nn.EmbeddingBag)]
    rest = [p for p in model.parameters() if not any(p is weight for weight in tables)]
    first = torch.optim.SparseAdam(tables) if options.sparse == "sparse_adam" else torch.optim.SGD(tables, lr=0.1)
    return [first, *make_optimizers(options.optimizer, rest)]


def main():
    options = parse()
    torch.manual_seed(0)
    precision = Precision(options.precision)
    with torch.device("cuda"):  # the tables are larger than many a host
        model = build(options).to(precision.dtype).train()
    optimizers = split_optimizers(model, options)
    for _ in range(options.iterations):
        inputs = [x.cuda().to(precision.dtype) if x.is_floating_point() else x.cuda() for x in batch(options)]
        for optimizer in optimizers:
            optimizer.zero_grad()
        with precision.autocast():
            scores = model(*inputs)
            if options.model == "dlrm":
                clicks = torch.randint(2, (options.batch_size,)).to(scores)
                loss = F.binary_cross_entropy_with_logits(scores, clicks)
            else:
                loss = F.cross_entropy(scores, torch.arange(options.batch_size, device="cuda"))
        precision.scaler.scale(loss).backward()
        precision.step(optimizers)
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
