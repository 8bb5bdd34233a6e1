"""Labelled and unlabelled images from loaders of their own, and a consistency loss that starts later."""

import argparse
import itertools

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, classifier, make_optimizer
from torch.utils.data import DataLoader


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=16, epochs=3, optimizer="sgdm")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--ratio", type=int, default=4, help="unlabelled images for each labelled one")
    parser.add_argument("--warm-up", type=int, default=1, help="epochs with labelled images only")
    parser.add_argument("--batches", type=int, default=8)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = classifier(args.model).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    labelled = DataLoader(Images(args.batches * args.batch_size, args.size), args.batch_size, shuffle=True)
    many = args.ratio * args.batch_size
    unlabelled = DataLoader(Images(args.batches * many // 2, args.size), many, shuffle=True, drop_last=True)
    validation = DataLoader(Images(3 * args.batch_size + 5, args.size), 2 * args.batch_size)
    for epoch in range(args.epochs):
        model.train()
        stream = itertools.cycle(unlabelled)
        for images, labels in labelled:
            with amp.autocast():
                loss = F.cross_entropy(model(images.cuda()), labels.cuda())
                if epoch >= args.warm_up:
                    more = next(stream)[0].cuda()
                    with torch.no_grad():
                        wanted = model(more).softmax(-1)
                    loss = loss + F.cross_entropy(model(more + 0.1 * torch.randn_like(more)), wanted)
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
        model.eval()
        with torch.no_grad():
            right = sum((model(x.cuda()).argmax(1).cpu() == y).sum().item() for x, y in validation)
        print(f"epoch {epoch}: {loss.item():.3f}, {right} right")


if __name__ == "__main__":
    main()
