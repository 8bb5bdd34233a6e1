"""Stops when the validation loss no longer falls, keeps the best weights on the host, and tests them at the end."""

import argparse
import copy

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, classifier, make_optimizer
from torch.utils.data import DataLoader


def mean_loss(model, loader):
    model.eval()
    with torch.no_grad():
        losses = [F.cross_entropy(model(x.cuda()), y.cuda()).item() for x, y in loader]
    return sum(losses) / len(losses)


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=64, epochs=4)
    parser.add_argument("--model", default="mobilenet_v3_small")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--patience", type=int, default=2)
    parser.add_argument("--keep", choices=["host", "gpu"], default="host")
    parser.add_argument("--eval-batch-size", type=int, default=128)
    parser.add_argument("--test-batch-size", type=int, default=256)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = classifier(args.model).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    train = DataLoader(Images(8 * args.batch_size, args.size), args.batch_size, shuffle=True)
    validation = DataLoader(Images(2 * args.eval_batch_size, args.size), args.eval_batch_size)
    best, waited, kept = float("inf"), 0, None
    for epoch in range(args.epochs):
        model.train()
        for images, labels in train:
            with amp.autocast():
                loss = F.cross_entropy(model(images.cuda()), labels.cuda())
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
        found = mean_loss(model, validation)
        print(f"epoch {epoch}: {loss.item():.3f}, validation {found:.3f}")
        if kept is None or found < best:
            best, waited = found, 0
            state = model.state_dict()
            kept = copy.deepcopy(state) if args.keep == "gpu" else {k: v.cpu().clone() for k, v in state.items()}
        else:
            waited += 1
            if waited >= args.patience:
                break
    model.load_state_dict(kept)
    test = DataLoader(Images(args.test_batch_size, args.size), args.test_batch_size)
    print(f"test {mean_loss(model, test):.3f}")


if __name__ == "__main__":
    main()
