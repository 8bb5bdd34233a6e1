"""Averaged weights from some epoch on: SWA with its own learning rate and update_bn, or a moving average."""

import argparse

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, classifier, make_optimizer
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from torch.utils.data import DataLoader


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=64, epochs=4, optimizer="sgdm")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--average", choices=["swa", "ema"], default="swa")
    parser.add_argument("--start", type=int, default=2)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--test-batch-size", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(0)
    model, average = classifier(args.model).cuda(), None
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    train = DataLoader(Images(args.batches * args.batch_size, args.size), args.batch_size, shuffle=True)
    test = DataLoader(Images(2 * args.test_batch_size, args.size), args.test_batch_size)
    for epoch in range(args.epochs):
        if epoch == args.start:
            ema = {"multi_avg_fn": get_ema_multi_avg_fn(0.99), "use_buffers": True} if args.average == "ema" else {}
            average = AveragedModel(model, **ema)
            scheduler = SWALR(optimizer, swa_lr=0.005)
        model.train()
        for data, labels in train:
            with amp.autocast():
                loss = F.cross_entropy(model(data.cuda()), labels.cuda())
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
            if average and args.average == "ema":
                average.update_parameters(model)
        if average:
            if args.average == "swa":
                average.update_parameters(model)
            scheduler.step()
        print(f"epoch {epoch}: {loss.item():.3f}")
    if args.average == "swa":
        update_bn(train, average, device="cuda")
    average.eval()
    with torch.no_grad():
        right = sum((average(data.cuda()).argmax(1).cpu() == labels).sum().item() for data, labels in test)
    print(f"{right} right")


if __name__ == "__main__":
    main()
