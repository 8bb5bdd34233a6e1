"""Torchvision's detectors on random images with random boxes: proposals, matches and samples depend on values."""

import argparse
import json

import torch
from torchvision.models import detection

MODELS = {
    "fasterrcnn": detection.fasterrcnn_resnet50_fpn,
    "maskrcnn": detection.maskrcnn_resnet50_fpn,
    "retinanet": detection.retinanet_resnet50_fpn,
}
CLASSES = 91


def make_sample(height, width, masks):
    """An image and what is on it: 3 to 8 boxes, each between 5 % and half of the image's sides."""
    count = int(torch.randint(3, 9, ()))
    size = torch.tensor([width, height])
    sides = (0.05 + 0.45 * torch.rand(count, 2)) * size
    corners = torch.rand(count, 2) * (size - sides)
    target = {"boxes": torch.cat([corners, corners + sides], 1), "labels": torch.randint(1, CLASSES, (count,))}
    if masks:
        target["masks"] = torch.zeros(count, height, width, dtype=torch.uint8)
        for mask, (left, top, right, bottom) in zip(target["masks"], target["boxes"].long().tolist(), strict=True):
            mask[top : bottom + 1, left : right + 1] = 1
    return torch.rand(3, height, width), target


def train(args):
    torch.manual_seed(0)
    model = MODELS[args.model](weights=None, weights_backbone=None, num_classes=CLASSES).to(args.device).train()
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trainable, lr=0.001, momentum=0.9, weight_decay=5e-4)
    for _ in range(args.iters):
        samples = [make_sample(args.height, args.width, args.model == "maskrcnn") for _ in range(args.bs)]
        images = [image.to(args.device) for image, _ in samples]
        targets = [{key: value.to(args.device) for key, value in target.items()} for _, target in samples]
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.prec == "bf16"):
            losses = model(images, targets)
            loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="fasterrcnn")
    parser.add_argument("--prec", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--bs", type=int, default=2)
    parser.add_argument("--height", type=int, default=600)
    parser.add_argument("--width", type=int, default=800)
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
