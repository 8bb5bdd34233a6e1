"""Masked language modelling with the masks drawn on the GPU and a vocabulary head over the masked positions only."""

import argparse
import json

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, MASK, SPECIAL = 30522, 103, 1000


class Encoder(nn.Module):
    def __init__(self, width=512, layers=6, heads=8, context=512):
        super().__init__()
        self.words, self.positions = nn.Embedding(VOCABULARY, width), nn.Embedding(context, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, words, masked):
        hidden = self.words(words) + self.positions(torch.arange(words.shape[1], device=words.device))
        return self.head(self.transform(self.layers(hidden)[masked]))


def mask_tokens(words, share):
    """BERT's rule: of the chosen words 80 % become [MASK], 10 % another word, and 10 % stay."""
    probability = torch.full(words.shape, share, device=words.device)
    masked = torch.bernoulli(probability.masked_fill(words < SPECIAL, 0.0)).bool()
    labels = words[masked]
    inputs = words.clone()
    replaced = torch.bernoulli(torch.full_like(probability, 0.8)).bool() & masked
    inputs[replaced] = MASK
    changed = torch.bernoulli(torch.full_like(probability, 0.5)).bool() & masked & ~replaced
    inputs[changed] = torch.randint(VOCABULARY, words.shape, device=words.device)[changed]
    return inputs, masked, labels


def train(args):
    torch.manual_seed(0)
    model = Encoder().to(args.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(args.iters):
        words = torch.randint(VOCABULARY, (args.bs, args.length)).to(args.device)
        inputs, masked, labels = mask_tokens(words, args.share)
        optimizer.zero_grad()
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.prec == "bf16"):
            loss = F.cross_entropy(model(inputs, masked), labels)
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prec", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--share", type=float, default=0.15, help="of the words that are masked")
    parser.add_argument("--bs", type=int, default=32)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
