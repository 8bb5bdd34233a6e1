"""A learning-rate range test on a copy of the state, then training from the start with what it found."""

import argparse
import copy

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, classifier, make_optimizer
from torch.utils.data import DataLoader


def step(model, optimizer, amp, images, labels):
    with amp.autocast():
        loss = F.cross_entropy(model(images.cuda()), labels.cuda())
    optimizer.zero_grad()
    amp.backward(loss)
    amp.step(optimizer)
    return loss


def find_rate(model, args, amp, loader):
    before = copy.deepcopy(model.state_dict())
    optimizer, losses, rate = make_optimizer(args.optimizer, model.parameters()), [], 1e-6
    for images, labels in loader:
        for group in optimizer.param_groups:
            group["lr"] = rate
        losses.append((step(model, optimizer, amp, images, labels).item(), rate))
        rate *= 1.6
    model.load_state_dict(before)
    return min(losses)[1] / 10


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=32, epochs=2)
    parser.add_argument("--model", default="efficientnet_b0")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--finder-batch-size", type=int, default=16)
    parser.add_argument("--finder-steps", type=int, default=12)
    parser.add_argument("--batches", type=int, default=8)
    args = parser.parse_args()
    torch.manual_seed(0)
    model, amp = classifier(args.model).cuda(), Amp(args.precision)
    few = DataLoader(Images(args.finder_steps * args.finder_batch_size, args.size), args.finder_batch_size)
    rate = find_rate(model, args, amp, few)
    print(f"rate {rate:.2e}")
    optimizer = make_optimizer(args.optimizer, model.parameters())
    for group in optimizer.param_groups:
        group["lr"] = rate
    loader = DataLoader(Images(args.batches * args.batch_size, args.size), args.batch_size, shuffle=True)
    for epoch in range(args.epochs):
        for images, labels in loader:
            loss = step(model, optimizer, amp, images, labels)
        print(f"epoch {epoch}: {loss.item():.3f}")


if __name__ == "__main__":
    main()
