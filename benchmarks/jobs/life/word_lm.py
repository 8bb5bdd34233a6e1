"""A word-level language model whose parameters are updated by hand; the best is reloaded and tested at the end."""

import argparse
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn


class Recurrent(nn.Module):
    def __init__(self, kind, vocabulary, width, layers):
        super().__init__()
        self.embedding, self.drop = nn.Embedding(vocabulary, width), nn.Dropout(0.2)
        self.rnn = getattr(nn, kind)(width, width, layers, dropout=0.2)
        self.decoder = nn.Linear(width, vocabulary)

    def forward(self, text, hidden):
        output, hidden = self.rnn(self.drop(self.embedding(text)), hidden)
        return self.decoder(self.drop(output)).flatten(0, 1), hidden


def detached(hidden):
    if hidden is None:
        return None
    return hidden.detach() if isinstance(hidden, torch.Tensor) else tuple(part.detach() for part in hidden)


def batchify(words, columns):
    rows = len(words) // columns
    return words[: rows * columns].view(columns, rows).t().contiguous().cuda()


def pieces(source, length):
    for start in range(0, len(source) - 1, length):
        stop = min(start + length, len(source) - 1)
        yield source[start:stop], source[start + 1 : stop + 1].flatten()


def evaluate(model, source, length):
    model.eval()
    total, hidden = 0.0, None
    with torch.no_grad():
        for text, targets in pieces(source, length):
            output, hidden = model(text, hidden)
            total += len(text) * F.cross_entropy(output, targets).item()
    return total / len(source)


def train(model, source, args, rate):
    model.train()
    hidden = None
    for number, (text, targets) in enumerate(pieces(source, args.bptt)):
        model.zero_grad()
        hidden = detached(hidden)
        output, hidden = model(text, hidden)
        loss = F.cross_entropy(output, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-rate)
        if number % 10 == 0:
            print(f"batch {number}: {loss.item():.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=["LSTM", "GRU", "RNN"], default="LSTM")
    parser.add_argument("--vocabulary", type=int, default=20000)
    parser.add_argument("--width", type=int, default=400)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=40)
    parser.add_argument("--eval-batch-size", type=int, default=10)
    parser.add_argument("--bptt", type=int, default=35)
    parser.add_argument("--eval-bptt", type=int, default=35)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batches", type=int, default=20)
    args = parser.parse_args()
    torch.manual_seed(0)
    words = torch.randint(args.vocabulary, (args.batch_size * (args.bptt * args.batches + 17),))
    source, held = batchify(words, args.batch_size), batchify(words[: len(words) // 4], args.eval_batch_size)
    model = Recurrent(args.kind, args.vocabulary, args.width, args.layers).cuda()
    rate, best = 20.0, None
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(args.epochs):
            train(model, source, args, rate)
            loss = evaluate(model, held, args.eval_bptt)
            print(f"epoch {epoch}: {loss:.3f}")
            if best is None or loss < best:
                torch.save(model.state_dict(), Path(folder) / "model.pt")
                best = loss
            else:
                rate /= 4.0
        model.load_state_dict(torch.load(Path(folder) / "model.pt", map_location="cuda"))
    model.rnn.flatten_parameters()
    print(f"test {evaluate(model, held, args.eval_bptt):.3f}")


if __name__ == "__main__":
    main()
