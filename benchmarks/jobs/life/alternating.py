"""Two models trained by turns with optimizers of their own: some epochs one, some epochs the other, then both."""

import argparse

import torch
import torch.nn.functional as F
from parts import Amp, Images, UNet, add_options, classifier, make_optimizer
from torch.utils.data import DataLoader


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=16, epochs=3, optimizer="adam")
    parser.add_argument("--classifier", default="resnet18")
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--batches", type=int, default=6)
    args = parser.parse_args()
    torch.manual_seed(0)
    cleaner, judge = UNet(width=args.width).cuda(), classifier(args.classifier).cuda()
    optimizers = {
        "cleaner": make_optimizer(args.optimizer, cleaner.parameters()),
        "judge": make_optimizer("sgdm", judge.parameters()),
    }
    amp = Amp(args.precision)
    loader = DataLoader(Images(args.batches * args.batch_size, args.size), args.batch_size, shuffle=True)
    for epoch in range(args.epochs):
        names = ["cleaner"] if epoch == 0 else ["judge"] if epoch == 1 else ["cleaner", "judge"]
        for images, labels in loader:
            images, labels = images.cuda(), labels.cuda()
            noisy = images + 0.1 * torch.randn_like(images)
            with amp.autocast():
                loss = 0.0
                if "cleaner" in names:
                    cleaned = cleaner(noisy)
                    loss = loss + F.mse_loss(cleaned.float(), images)
                else:
                    with torch.no_grad():
                        cleaned = cleaner(noisy)
                if "judge" in names:
                    loss = loss + F.cross_entropy(judge(cleaned), labels)
            for name in names:
                optimizers[name].zero_grad()
            amp.backward(loss)
            amp.step(*(optimizers[name] for name in names))
        print(f"epoch {epoch}: {loss.item():.3f}")


if __name__ == "__main__":
    main()
