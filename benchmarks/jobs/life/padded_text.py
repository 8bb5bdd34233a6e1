"""Text classification with batches padded to their longest text; the evaluation reads longer texts."""

import argparse
import random

import torch
import torch.nn.functional as F
from parts import Amp, Encoder, add_options, make_optimizer
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __init__(self, count, shortest, longest, seed):
        dice = random.Random(seed)
        self.lengths = [int(shortest + (longest - shortest) * dice.random() ** 2) for _ in range(count)]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        return torch.randint(1, 30522, (self.lengths[index],)), index % 2


def collate(batch):
    texts, labels = zip(*batch, strict=True)
    return pad_sequence(texts, batch_first=True), torch.tensor(labels)


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=32, epochs=2)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--longest", type=int, default=256)
    parser.add_argument("--eval-longest", type=int, default=512)
    parser.add_argument("--eval-batch-size", type=int, default=64)
    parser.add_argument("--samples", type=int, default=650)
    parser.add_argument("--sorted", action="store_true", help="longest texts last")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Encoder(width=args.width, layers=args.layers).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    texts = Texts(args.samples, 16, args.longest, 0)
    if args.sorted:
        texts.lengths.sort()
    train = DataLoader(texts, args.batch_size, shuffle=not args.sorted, collate_fn=collate)
    held = Texts(2 * args.eval_batch_size, 16, args.eval_longest, 1)
    test = DataLoader(held, args.eval_batch_size, collate_fn=collate)
    for epoch in range(args.epochs):
        model.train()
        for text, labels in train:
            with amp.autocast():
                loss = F.cross_entropy(model(text.cuda()), labels.cuda())
            optimizer.zero_grad()
            amp.backward(loss)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            amp.step(optimizer)
        model.eval()
        with torch.no_grad(), amp.autocast():
            right = sum((model(x.cuda()).argmax(1).cpu() == y).sum().item() for x, y in test)
        print(f"epoch {epoch}: {loss.item():.3f}, {right} right")


if __name__ == "__main__":
    main()
