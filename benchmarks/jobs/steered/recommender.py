"""A recommender on histories of different lengths: bags with offsets, sparse gradients of the rows that occur."""

import argparse
import json
from itertools import chain

import torch
import torch.nn.functional as F
from torch import nn


class Recommender(nn.Module):
    """Scores an item for a user by the mean of the history, or by a history weighted for that item."""

    def __init__(self, users, items, width, history):
        super().__init__()
        self.history = history
        self.users = nn.Embedding(users, width, sparse=True)
        self.items = nn.Embedding(items, width, sparse=True)
        self.bags = nn.EmbeddingBag(items, width, mode="mean", sparse=True)
        self.weigh = nn.Sequential(nn.Linear(2 * width, 128), nn.ReLU(), nn.Linear(128, 1))
        self.net = nn.Sequential(
            nn.Linear(3 * width, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1)
        )

    def forward(self, users, wanted, seen, offsets):
        item = self.items(wanted)
        summary = self.bags(seen, offsets) if self.history == "bags" else self.attend(item, seen, offsets)
        return self.net(torch.cat([self.users(users), item, summary], 1)).squeeze(1)

    def attend(self, item, seen, offsets):
        lengths = torch.diff(offsets, append=offsets.new_tensor([len(seen)]))
        owner = torch.repeat_interleave(torch.arange(len(item), device=item.device), lengths)
        rows = self.items(seen)
        weights = self.weigh(torch.cat([rows, item[owner]], 1)).sigmoid()
        return torch.zeros_like(item).index_add(0, owner, rows * weights)

    def split(self):
        """Parameters with sparse gradients, and the others."""
        sparse = [p for table in (self.users, self.items, self.bags) for p in table.parameters()]
        return sparse, list(chain(self.weigh.parameters(), self.net.parameters()))


def make_batch(args):
    """Popular items are far more frequent: the cube of a uniform number gives the item."""
    lengths = torch.randint(1, 2 * args.mean, (args.bs,))
    offsets = lengths.cumsum(0) - lengths
    seen = (torch.rand(int(lengths.sum())).pow(3) * args.items).long()
    wanted = (torch.rand(args.bs).pow(3) * args.items).long()
    return torch.randint(args.users, (args.bs,)), wanted, seen, offsets, torch.rand(args.bs).round()


def train(args):
    torch.manual_seed(0)
    model = Recommender(args.users, args.items, args.width, args.history).to(args.device).train()
    sparse, dense = model.split()
    tables = torch.optim.SparseAdam(sparse, lr=1e-3) if args.opt == "sparseadam" else torch.optim.SGD(sparse, lr=0.1)
    others = torch.optim.Adam(dense, lr=1e-3)
    for _ in range(args.iters):
        *batch, clicked = (part.to(args.device) for part in make_batch(args))
        loss = F.binary_cross_entropy_with_logits(model(*batch), clicked)
        tables.zero_grad()
        others.zero_grad()
        loss.backward()
        tables.step()
        others.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--history", choices=["bags", "jagged"], default="bags")
    parser.add_argument("--opt", choices=["sparseadam", "sgd"], default="sparseadam")
    parser.add_argument("--users", type=int, default=500_000)
    parser.add_argument("--items", type=int, default=300_000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--mean", type=int, default=40, help="length of a history")
    parser.add_argument("--bs", type=int, default=8192)
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
