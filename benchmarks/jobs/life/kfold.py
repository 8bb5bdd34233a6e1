"""K-fold cross-validation: a model made anew for each fold, then one trained on everything."""

import argparse

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, classifier, make_optimizer
from torch.utils.data import DataLoader, Subset


def train(args, data, amp):
    model = classifier(args.model).cuda()
    optimizer = make_optimizer(args.optimizer, model.parameters())
    for _ in range(args.epochs):
        for images, labels in DataLoader(data, args.batch_size, shuffle=True):
            with amp.autocast():
                loss = F.cross_entropy(model(images.cuda()), labels.cuda())
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
    return model


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=64, epochs=1)
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--keep", action="store_true", help="keep all models, for an ensemble at the end")
    args = parser.parse_args()
    torch.manual_seed(0)
    data, amp, kept = Images(args.samples, args.size), Amp(args.precision), []
    for fold in range(args.folds):
        held = list(range(fold, args.samples, args.folds))
        rest = [index for index in range(args.samples) if index % args.folds != fold]
        model = train(args, Subset(data, rest), amp).eval()
        with torch.no_grad():
            batches = DataLoader(Subset(data, held), 2 * args.batch_size)
            right = sum((model(x.cuda()).argmax(1).cpu() == y).sum().item() for x, y in batches)
        print(f"fold {fold}: {right} of {len(held)}")
        if args.keep:
            kept.append(model)
    if not kept:
        kept = [train(args, data, amp).eval()]
    with torch.no_grad():
        images = torch.rand(2 * args.batch_size, 3, args.size, args.size).cuda()
        print(torch.stack([model(images) for model in kept]).mean(0).argmax(1)[:5].tolist())


if __name__ == "__main__":
    main()
