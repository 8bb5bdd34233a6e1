"""A vision transformer whose patches go to the best one of its experts, up to a capacity; the others are dropped.

With `lists` an expert gets the tokens that chose it, those of the highest share first; with `slots` all experts run at
once on a buffer of their capacity, which the tokens that found room are copied into.
"""

import argparse
import json
import math

import torch
import torch.nn.functional as F
from torch import nn

CLASSES, PATCH = 100, 16


class Experts(nn.Module):
    def __init__(self, width, experts, capacity, dispatch):
        super().__init__()
        self.capacity, self.dispatch = capacity, dispatch
        self.router = nn.Linear(width, experts, bias=False)
        self.first = nn.Parameter(torch.randn(experts, width, 4 * width) / math.sqrt(width))
        self.second = nn.Parameter(torch.randn(experts, 4 * width, width) / math.sqrt(4 * width))

    def forward(self, x):
        flat = x.flatten(0, 1)
        share, chosen = self.router(flat).float().softmax(-1).max(-1)
        room = math.ceil(self.capacity * len(flat) / len(self.first))
        route = self.by_lists if self.dispatch == "lists" else self.by_slots
        return route(flat, share.to(x.dtype), chosen, room).view_as(x)

    def by_lists(self, flat, share, chosen, room):
        out = torch.zeros_like(flat)
        for number in range(len(self.first)):
            tokens = (chosen == number).nonzero().squeeze(1)
            if len(tokens) > room:
                tokens = tokens[share[tokens].topk(room).indices]
            result = F.gelu(flat[tokens] @ self.first[number]) @ self.second[number]
            out = out.index_add(0, tokens, (result * share[tokens, None]).to(out.dtype))
        return out

    def by_slots(self, flat, share, chosen, room):
        hot = F.one_hot(chosen, len(self.first))
        place = (hot.cumsum(0) * hot).sum(1) - 1  # how many chose the same expert before
        kept = place < room
        slots = chosen[kept] * room + place[kept]
        buffer = flat.new_zeros(len(self.first) * room, flat.shape[1]).index_copy(0, slots, flat[kept])
        result = torch.bmm(F.gelu(torch.bmm(buffer.view(len(self.first), room, -1), self.first)), self.second)
        weighted = result.flatten(0, 1)[slots] * share[kept, None]
        return torch.zeros_like(flat).index_put((kept,), weighted.to(flat.dtype))


class Block(nn.Module):
    def __init__(self, width, heads, experts, capacity, dispatch):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.experts = Experts(width, experts, capacity, dispatch)

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.experts(self.norm2(x))


class Network(nn.Module):
    def __init__(self, side, experts, capacity, dispatch, width=384, layers=6, heads=6):
        super().__init__()
        self.patches = nn.Conv2d(3, width, PATCH, PATCH)
        self.positions = nn.Parameter(torch.randn((side // PATCH) ** 2, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, heads, experts, capacity, dispatch) for _ in range(layers)))
        self.head = nn.Linear(width, CLASSES)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2) + self.positions
        return self.head(self.blocks(x).mean(1))


def train(args):
    torch.manual_seed(0)
    model = Network(args.side, args.experts, args.capacity, args.dispatch).to(args.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for _ in range(args.iters):
        images = torch.randn(args.bs, 3, args.side, args.side).to(args.device)
        labels = torch.randint(CLASSES, (args.bs,)).to(args.device)
        optimizer.zero_grad()
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.prec == "bf16"):
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dispatch", choices=["lists", "slots"], default="lists")
    parser.add_argument("--capacity", type=float, default=1.25, help="times an expert's fair share")
    parser.add_argument("--experts", type=int, default=8)
    parser.add_argument("--prec", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--bs", type=int, default=64)
    parser.add_argument("--side", type=int, default=224, help="of the square images")
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
