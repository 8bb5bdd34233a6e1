"""Sub-pixel super-resolution on crops; tested on whole images; saved after each epoch, and used at the end."""

import argparse
import tempfile
from pathlib import Path

import torch
from parts import Amp, add_options, make_optimizer
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Scaled(Dataset):
    def __init__(self, count, size, factor):
        self.count, self.size, self.factor = count, size, factor

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        large = torch.rand(1, self.size, self.size)
        return nn.functional.avg_pool2d(large, self.factor), large


def build(factor, width):
    return nn.Sequential(
        nn.Conv2d(1, width, 5, 1, 2), nn.ReLU(), nn.Conv2d(width, width, 3, 1, 1), nn.ReLU(),
        nn.Conv2d(width, width // 2, 3, 1, 1), nn.ReLU(), nn.Conv2d(width // 2, factor**2, 3, 1, 1),
        nn.PixelShuffle(factor),
    )  # fmt: skip


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=64, optimizer="adam")
    parser.add_argument("--factor", type=int, default=3)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--crop", type=int, default=96)
    parser.add_argument("--test-size", type=int, default=240)
    parser.add_argument("--test-batch-size", type=int, default=10)
    parser.add_argument("--final-size", type=int, default=1200)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = build(args.factor, args.width).cuda()
    optimizer, amp, criterion = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision), nn.MSELoss()
    train = DataLoader(Scaled(10 * args.batch_size, args.crop, args.factor), args.batch_size, shuffle=True)
    test = DataLoader(Scaled(2 * args.test_batch_size + 1, args.test_size, args.factor), args.test_batch_size)
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(args.epochs):
            for small, large in train:
                optimizer.zero_grad()
                with amp.autocast():
                    loss = criterion(model(small.cuda()).float(), large.cuda())
                amp.backward(loss)
                amp.step(optimizer)
            with torch.no_grad():
                score = sum(criterion(model(small.cuda()), large.cuda()).item() for small, large in test)
            print(f"epoch {epoch}: {loss.item():.4f}, test {score:.4f}")
            torch.save(model, Path(folder) / f"model_{epoch}.pt")
        best = torch.load(Path(folder) / f"model_{args.epochs - 1}.pt", weights_only=False).cuda()
    side = args.final_size // args.factor
    print(tuple(best(torch.rand(1, 1, side, side).cuda()).detach().cpu().shape))


if __name__ == "__main__":
    main()
