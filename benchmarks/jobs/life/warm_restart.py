"""Vision transformer recipe: warm-up and cosine by step, mixup, an EMA evaluated beside the model, clipping."""

import argparse
import copy
import math

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, classifier, make_optimizer
from torch.utils.data import DataLoader


@torch.no_grad()
def accuracy(model, loader, amp):
    model.eval()
    with amp.autocast():
        return sum((model(x.cuda()).argmax(1).cpu() == y).sum().item() for x, y in loader)


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=32, epochs=2)
    parser.add_argument("--model", default="vit_b_16")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--eval-batch-size", type=int, default=64)
    parser.add_argument("--ema-start", type=int, default=6, help="step at which the moving average begins")
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = classifier(args.model, 100).cuda()
    network = torch.compile(model) if args.compile else model
    optimizer, amp, average = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision), None
    total = args.epochs * args.batches
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(step / 5, 0.5 + 0.5 * math.cos(math.pi * step / total))
    )
    train = DataLoader(Images(args.batches * args.batch_size, args.size, classes=100), args.batch_size, shuffle=True)
    test = DataLoader(Images(args.eval_batch_size + 7, args.size, classes=100), args.eval_batch_size)
    step = 0
    for epoch in range(args.epochs):
        network.train()
        for images, labels in train:
            images, labels = images.cuda(), F.one_hot(labels.cuda(), 100).float()
            images, labels = 0.7 * images + 0.3 * images.flip(0), 0.7 * labels + 0.3 * labels.flip(0)
            with amp.autocast():
                loss = F.cross_entropy(network(images), labels)
            optimizer.zero_grad()
            amp.backward(loss)
            amp.scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            amp.step(optimizer)
            rate.step()
            step += 1
            if step == args.ema_start:
                average = copy.deepcopy(model).requires_grad_(False)
            elif average is not None:
                with torch.no_grad():
                    torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 0.01)
        print(f"epoch {epoch}: {loss.item():.3f}, {accuracy(model, test, amp)} right")
        if average is not None:
            print(f"average: {accuracy(average, test, amp)} right")


if __name__ == "__main__":
    main()
