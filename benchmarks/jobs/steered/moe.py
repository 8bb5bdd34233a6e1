"""A language model whose feed-forward layers are the best 2 of 8 experts, routed with `torch.where` and `index_add_`.

How many tokens an expert gets, and so the size of its activations, is decided by the router's values.
"""

import argparse
import json

import torch
import torch.nn.functional as F
from torch import nn


class Experts(nn.Module):
    def __init__(self, width, hidden, experts, chosen):
        super().__init__()
        self.chosen = chosen
        self.router = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)) for _ in range(experts)
        )

    def forward(self, x):
        flat = x.flatten(0, 1)
        shares = self.router(flat).softmax(-1, dtype=torch.float32)
        weights, chosen = shares.topk(self.chosen, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, places = torch.where(chosen == number)
            if rows.numel() == 0:
                continue
            result = expert(flat[rows]) * weights[rows, places, None]
            out.index_add_(0, rows, result.to(out.dtype))
        load = torch.bincount(chosen.flatten(), minlength=len(self.experts)) / chosen.numel()
        balance = len(self.experts) * (load * shares.mean(0)).sum()
        return out.view_as(x), balance


class Block(nn.Module):
    def __init__(self, width, heads, hidden, experts, chosen):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.experts = Experts(width, hidden, experts, chosen)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        mixed, balance = self.experts(self.norm2(x))
        return x + mixed, balance


class MoE(nn.Module):
    def __init__(self, vocabulary=8000, width=512, layers=6, heads=8, hidden=2048, experts=8, chosen=2, context=1024):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, hidden, experts, chosen) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, x):
        h = self.tokens(x) + self.positions(torch.arange(x.shape[1], device=x.device))
        balances = []
        for block in self.blocks:
            h, balance = block(h)
            balances.append(balance)
        return self.head(self.norm(h)), torch.stack(balances).mean()


def train(args, vocabulary=8000):
    torch.manual_seed(0)
    model = MoE(vocabulary, layers=args.layers).to(args.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for _ in range(args.iters):
        text = torch.randint(vocabulary, (args.bs, args.length + 1))
        x, y = text[:, :-1].to(args.device), text[:, 1:].to(args.device)
        optimizer.zero_grad()
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.prec == "bf16"):
            logits, balance = model(x)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten()) + 0.01 * balance
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prec", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--bs", type=int, default=8)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
