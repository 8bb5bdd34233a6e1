"""Text from an endless stream, trained for a number of steps with a validation every few of them."""

import argparse

import torch
from parts import GPT, Amp, add_options, make_optimizer
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, length, vocabulary, count=None):
        self.length, self.vocabulary, self.count = length, vocabulary, count

    def __iter__(self):
        given = 0
        while self.count is None or given < self.count:
            text = torch.randint(self.vocabulary, (self.length + 1,))
            yield text[:-1], text[1:]
            given += 1


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=8)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--max-steps", type=int, default=50)
    parser.add_argument("--validate-every", type=int, default=20)
    parser.add_argument("--validation-batch", type=int, default=16)
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = GPT(args.vocabulary, args.length, args.width, args.layers, args.width // 64).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    train = iter(DataLoader(Stream(args.length, args.vocabulary), args.batch_size, num_workers=args.workers))
    held = DataLoader(Stream(args.length, args.vocabulary, 2 * args.validation_batch), args.validation_batch)
    for step in range(1, args.max_steps + 1):
        text, targets = next(train)
        with amp.autocast():
            _, loss = model(text.cuda(), targets.cuda())
        optimizer.zero_grad()
        amp.backward(loss)
        amp.step(optimizer)
        if step % args.validate_every == 0:
            model.eval()
            with torch.no_grad(), amp.autocast():
                losses = [model(text.cuda(), targets.cuda())[1].item() for text, targets in held]
            model.train()
            print(f"step {step}: {loss.item():.3f}, validation {sum(losses) / len(losses):.3f}")


if __name__ == "__main__":
    main()
