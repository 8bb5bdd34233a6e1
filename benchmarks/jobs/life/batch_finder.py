"""Doubles the batch until memory runs out under a set share of the GPU, then trains with the last size that went."""

import argparse

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, classifier, make_optimizer
from torch.utils.data import DataLoader


def step(model, optimizer, amp, images, labels):
    with amp.autocast():
        loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    amp.backward(loss)
    amp.step(optimizer)
    return loss


def fits(model, args, amp, size):
    optimizer = make_optimizer(args.optimizer, model.parameters())
    try:
        for _ in range(2):
            images = torch.rand(size, 3, args.size, args.size, device="cuda")
            step(model, optimizer, amp, images, torch.zeros(size, dtype=torch.long, device="cuda"))
    except torch.cuda.OutOfMemoryError:
        return False
    finally:
        model.zero_grad()
        del optimizer
        torch.cuda.empty_cache()
    return True


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=8, epochs=1, optimizer="sgdm")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--limit-gb", type=float, default=6)
    parser.add_argument("--halve", action="store_true", help="search on between the last two sizes")
    parser.add_argument("--batches", type=int, default=5)
    args = parser.parse_args()
    torch.manual_seed(0)
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(args.limit_gb * 1e9 / total)
    model, amp = classifier(args.model).cuda(), Amp(args.precision)
    good, bad = 0, args.batch_size
    while fits(model, args, amp, bad):
        good, bad = bad, 2 * bad
    while args.halve and bad - good > max(good // 8, 1):
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(model, args, amp, middle) else (good, middle)
    print(f"batch size {good}")
    optimizer = make_optimizer(args.optimizer, model.parameters())
    for epoch in range(args.epochs):
        for images, labels in DataLoader(Images(args.batches * good, args.size), good, drop_last=True):
            loss = step(model, optimizer, amp, images.cuda(), labels.cuda())
        print(f"epoch {epoch}: {loss.item():.3f}")


if __name__ == "__main__":
    main()
