"""An encoder-decoder on pairs of random sentences; greedy decoding of a validation batch after each epoch."""

import argparse

import torch
import torch.nn.functional as F
from parts import Amp, add_options, make_optimizer
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __init__(self, count, length, vocabulary):
        self.count, self.length, self.vocabulary = count, length, vocabulary

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        pair = torch.randint(3, self.vocabulary, (2, self.length))
        pair[1, 0] = 1
        return pair[0], pair[1]


class Translator(nn.Module):
    def __init__(self, vocabulary, width, layers, longest=512):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(longest, width)
        self.transformer = nn.Transformer(width, 8, layers, layers, 4 * width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def embed(self, text):
        return self.tokens(text) + self.positions(torch.arange(text.shape[1], device=text.device))

    def forward(self, source, target):
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device)
        return self.head(self.transformer(self.embed(source), self.embed(target), tgt_mask=causal, tgt_is_causal=True))


@torch.no_grad()
def decode(model, source, longest):
    text = torch.ones(len(source), 1, dtype=torch.long, device=source.device)
    for _ in range(longest):
        text = torch.cat([text, model(source, text)[:, -1].argmax(-1, keepdim=True)], 1)
    return text


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=32, optimizer="adam")
    parser.add_argument("--vocabulary", type=int, default=10000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--decode-batch", type=int, default=128)
    parser.add_argument("--decode-tokens", type=int, default=24)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Translator(args.vocabulary, args.width, args.layers).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    train = DataLoader(Sentences(args.batches * args.batch_size, args.length, args.vocabulary), args.batch_size)
    test = DataLoader(Sentences(args.decode_batch, args.length, args.vocabulary), args.decode_batch)
    for epoch in range(args.epochs):
        model.train()
        for source, target in train:
            source, target = source.cuda(), target.cuda()
            with amp.autocast():
                scores = model(source, target[:, :-1])
                loss = F.cross_entropy(scores.transpose(1, 2), target[:, 1:], label_smoothing=0.1)
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
        model.eval()
        for source, _ in test:
            with amp.autocast():
                made = decode(model, source.cuda(), args.decode_tokens)
        print(f"epoch {epoch}: {loss.item():.3f}, {made[0, :4].tolist()}")


if __name__ == "__main__":
    main()
