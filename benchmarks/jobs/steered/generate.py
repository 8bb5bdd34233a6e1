"""REINFORCE on texts that the model samples itself, token by token, until all have met the end token."""

import argparse
import json

import torch
import torch.nn.functional as F
from torch import nn

PAD, START, END = 0, 1, 2


class Model(nn.Module):
    def __init__(self, vocabulary, longest, width=384, layers=6, heads=6):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(longest + 1, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        length = tokens.shape[1]
        hidden = self.tokens(tokens) + self.positions(torch.arange(length, device=tokens.device))
        causal = nn.Transformer.generate_square_subsequent_mask(length, device=tokens.device)
        return self.head(self.layers(hidden, mask=causal, is_causal=True))


@torch.no_grad()
def sample(model, bs, longest, device):
    """Token ids, padded after the end token; as long as the longest text."""
    tokens = torch.full((bs, 1), START, device=device)
    finished = torch.zeros(bs, dtype=torch.bool, device=device)
    while not finished.all() and tokens.shape[1] <= longest:
        shares = F.softmax(model(tokens)[:, -1], -1)
        drawn = torch.multinomial(shares, 1).squeeze(1).masked_fill(finished, PAD)
        finished |= drawn == END
        tokens = torch.cat([tokens, drawn[:, None]], 1)
    return tokens


def reward(tokens):
    """One for a text that ends, and a little for each distinct pair of neighbours in it."""
    ended = (tokens == END).any(1).float()
    changes = ((tokens[:, 1:] != tokens[:, :-1]) & (tokens[:, 1:] != PAD)).float().sum(1)
    return ended + 0.01 * changes


def policy_loss(model, tokens, only_real):
    real = tokens[:, 1:] != PAD
    rewards = reward(tokens)
    advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
    logits = model(tokens[:, :-1])
    if only_real:
        losses = F.cross_entropy(logits[real], tokens[:, 1:][real], reduction="none")
        return (losses * advantages[:, None].expand(real.shape)[real]).mean()
    losses = F.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], ignore_index=PAD, reduction="none")
    return (losses * advantages[:, None]).sum() / real.sum()


def train(args):
    torch.manual_seed(0)
    model = Model(args.vocabulary, args.longest).to(args.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for _ in range(args.iters):
        tokens = sample(model, args.bs, args.longest, args.device)
        optimizer.zero_grad()
        loss = policy_loss(model, tokens, args.loss == "real")
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loss", choices=["padded", "real"], default="padded", help="over all tokens, or real ones")
    parser.add_argument("--vocabulary", type=int, default=1000)
    parser.add_argument("--longest", type=int, default=64)
    parser.add_argument("--bs", type=int, default=128)
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
