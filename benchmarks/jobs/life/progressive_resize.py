"""A classifier trained on small images first and larger ones later, each stage with loaders of its own."""

import argparse

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, classifier, make_optimizer
from torch.utils.data import DataLoader


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=32, epochs=1, optimizer="sgdm")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 160, 224])
    parser.add_argument("--test-size", type=int, default=256)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--channels-last", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    layout = torch.channels_last if args.channels_last else torch.contiguous_format
    model = classifier(args.model, 100).to("cuda", memory_format=layout)
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    test = DataLoader(Images(2 * args.batch_size, args.test_size, classes=100), args.batch_size)
    for size in args.sizes:
        loader = DataLoader(Images(args.batches * args.batch_size, size, classes=100), args.batch_size, shuffle=True)
        for epoch in range(args.epochs):
            model.train()
            for images, labels in loader:
                with amp.autocast():
                    loss = F.cross_entropy(model(images.to("cuda", memory_format=layout)), labels.cuda())
                optimizer.zero_grad()
                amp.backward(loss)
                amp.step(optimizer)
            print(f"size {size}, epoch {epoch}: {loss.item():.3f}")
    model.eval()
    with torch.no_grad(), amp.autocast():
        right = sum((model(images.to("cuda", memory_format=layout)).argmax(1).cpu() == y).sum() for images, y in test)
    print(f"{right} right")


if __name__ == "__main__":
    main()
