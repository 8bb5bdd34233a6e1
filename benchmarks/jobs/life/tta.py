"""Training, then a test that sees every image in many crops, flips and scales at once."""

import argparse

import torch
import torch.nn.functional as F
import torchvision.transforms.functional as T
from parts import Amp, Images, add_options, classifier, make_optimizer
from torch.utils.data import DataLoader


def views(images, crop, scales):
    made = [image for part in T.ten_crop(images, crop) for image in (part,)]
    for scale in scales:
        size = int(images.shape[-1] * scale) // 32 * 32
        resized = F.interpolate(images, size=(size, size), mode="bilinear", antialias=True)
        made.append(T.center_crop(resized, [crop, crop]) if scale >= 1 else T.resize(resized, [crop, crop]))
    return torch.cat(made)


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=32, epochs=1, optimizer="sgdm")
    parser.add_argument("--model", default="resnet34")
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--crop", type=int, default=128)
    parser.add_argument("--scales", type=float, nargs="*", default=[0.9, 1.1, 1.25])
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--test-batch-size", type=int, default=32)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = classifier(args.model).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    for epoch in range(args.epochs):
        for data, labels in DataLoader(
            Images(args.batches * args.batch_size, args.crop), args.batch_size, shuffle=True
        ):
            with amp.autocast():
                loss = F.cross_entropy(model(data.cuda()), labels.cuda())
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
        print(f"epoch {epoch}: {loss.item():.3f}")
    model.eval()
    right = 0
    for data, labels in DataLoader(Images(2 * args.test_batch_size, args.size), args.test_batch_size):
        with torch.no_grad(), amp.autocast():
            scores = model(views(data.cuda(), args.crop, args.scales))
            scores = scores.float().softmax(-1).view(-1, len(data), scores.shape[-1]).mean(0)
        right += (scores.argmax(-1).cpu() == labels).sum().item()
    print(f"{right} right")


if __name__ == "__main__":
    main()
