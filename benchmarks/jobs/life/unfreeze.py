"""Fine-tuning: the head alone first, then the last stages, then everything."""

import argparse

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, classifier, make_optimizer
from torch.utils.data import DataLoader


def stages(model):
    """From the head downwards."""
    children = [child for child in model.children() if any(True for _ in child.parameters())]
    return list(reversed(children))


def evaluate(model, loader, amp):
    model.eval()
    with torch.inference_mode(), amp.autocast():
        return sum((model(data.cuda()).argmax(1).cpu() == labels).sum().item() for data, labels in loader)


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=32, epochs=3)
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--every", type=int, default=1, help="epochs after which more is unfrozen")
    parser.add_argument("--at-once", action="store_true", help="unfreeze everything, with an optimizer made anew")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = classifier(args.model).cuda()
    frozen = stages(model)
    model.requires_grad_(False)
    head = frozen.pop(0).requires_grad_(True)
    optimizer, amp = make_optimizer(args.optimizer, head.parameters()), Amp(args.precision)
    train = DataLoader(Images(args.batches * args.batch_size, args.size), args.batch_size, shuffle=True)
    test = DataLoader(Images(2 * args.batch_size, args.size), args.batch_size)
    for epoch in range(args.epochs):
        if epoch and epoch % args.every == 0 and frozen:
            if args.at_once:
                model.requires_grad_(True)
                frozen = []
                optimizer = make_optimizer(args.optimizer, model.parameters())
            else:
                stage = frozen.pop(0).requires_grad_(True)
                optimizer.add_param_group({"params": list(stage.parameters())})
        model.train()
        for data, labels in train:
            with amp.autocast():
                loss = F.cross_entropy(model(data.cuda()), labels.cuda())
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
        print(f"epoch {epoch}: {loss.item():.3f}, {evaluate(model, test, amp)} right")


if __name__ == "__main__":
    main()
