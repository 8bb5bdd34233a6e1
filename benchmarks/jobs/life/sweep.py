"""A grid of hyperparameters tried in one process, one model after the other."""

import argparse
import gc
import itertools

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, make_optimizer
from torch import nn
from torch.utils.data import DataLoader


def build(width, depth):
    layers, inputs = [], 3
    for level in range(depth):
        outputs = width * 2**level
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10))


def trial(args, width, depth, batch_size, amp):
    model = build(width, depth).cuda()
    optimizer = make_optimizer(args.optimizer, model.parameters())
    for _ in range(args.epochs):
        for images, labels in DataLoader(Images(4 * batch_size, args.size), batch_size, shuffle=True):
            with amp.autocast():
                loss = F.cross_entropy(model(images.cuda()), labels.cuda())
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
    return loss.item()


def main():
    parser = add_options(argparse.ArgumentParser(), epochs=1)
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--widths", type=int, nargs="+", default=[32, 64, 96])
    parser.add_argument("--depths", type=int, nargs="+", default=[3, 4])
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--empty-cache", action="store_true", help="after each trial")
    args = parser.parse_args()
    torch.manual_seed(0)
    amp = Amp(args.precision)
    for width, depth, size in itertools.product(args.widths, args.depths, args.batch_sizes):
        print(f"width {width}, depth {depth}, batch {size}: {trial(args, width, depth, size, amp):.3f}")
        if args.empty_cache:
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
