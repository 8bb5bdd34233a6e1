"""The batch grows instead of the learning rate falling: a new loader every epoch, validation between."""

import argparse

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, classifier, make_optimizer
from torch.utils.data import DataLoader


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=16, epochs=4, optimizer="sgdm")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--factor", type=float, default=2.0)
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--drop-last", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = classifier(args.model).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    images = Images(args.samples, args.size)
    validation = DataLoader(Images(96, args.size), 32)
    size = args.batch_size
    for epoch in range(args.epochs):
        model.train()
        for data, labels in DataLoader(images, size, shuffle=True, drop_last=args.drop_last):
            with amp.autocast():
                loss = F.cross_entropy(model(data.cuda()), labels.cuda())
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
        model.eval()
        with torch.no_grad():
            right = sum((model(data.cuda()).argmax(1).cpu() == labels).sum().item() for data, labels in validation)
        print(f"epoch {epoch}: batches of {size}, loss {loss.item():.3f}, {right} right")
        size = int(size * args.factor)


if __name__ == "__main__":
    main()
