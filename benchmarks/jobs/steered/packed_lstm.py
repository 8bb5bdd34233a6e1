"""A tagger over sentences of different lengths, packed for the LSTM; the lengths come from the host or from a mask."""

import argparse
import json

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

VOCABULARY, TAGS, IGNORED = 20000, 2000, -100


class Tagger(nn.Module):
    def __init__(self, width=256, hidden=512):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, width, padding_idx=0)
        self.rnn = nn.LSTM(width, hidden, num_layers=2, batch_first=True, bidirectional=True, dropout=0.3)
        self.head = nn.Linear(2 * hidden, TAGS)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.words(words), lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.head(hidden)


def make_batch(bs, longest):
    lengths = torch.randint(5, longest + 1, (bs,))
    words = pad_sequence([torch.randint(1, VOCABULARY, (n,)) for n in lengths.tolist()], batch_first=True)
    tags = torch.randint(TAGS, words.shape).masked_fill(words == 0, IGNORED)
    return words, tags, lengths


def train(args):
    torch.manual_seed(0)
    model = Tagger().to(args.device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(args.iters):
        words, tags, lengths = make_batch(args.bs, args.length)
        words, tags = words.to(args.device), tags.to(args.device)
        if args.lengths == "mask":
            lengths = (words != 0).sum(1).cpu()
        optimizer.zero_grad()
        logits = model(words, lengths)
        loss = F.cross_entropy(logits.flatten(0, 1), tags.flatten(), ignore_index=IGNORED)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", choices=["host", "mask"], default="host", help="where the lengths come from")
    parser.add_argument("--bs", type=int, default=64)
    parser.add_argument("--length", type=int, default=120, help="of the longest sentence")
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
