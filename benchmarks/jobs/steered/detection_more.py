"""More of torchvision's detectors: SSD with its hard negatives, FCOS without anchors, and Keypoint R-CNN."""

import argparse
import json

import torch
from torchvision.models import detection

MODELS = {
    "ssd": (detection.ssd300_vgg16, 91),
    "fcos": (detection.fcos_resnet50_fpn, 91),
    "keypointrcnn": (detection.keypointrcnn_resnet50_fpn, 2),
}
KEYPOINTS = 17


def make_sample(height, width, classes, most):
    """An image with up to `most` boxes, each between 5 % and 60 % of its sides, with keypoints inside."""
    count = int(torch.randint(1, most + 1, ()))
    size = torch.tensor([width, height])
    sides = (0.05 + 0.55 * torch.rand(count, 2)) * size
    corners = torch.rand(count, 2) * (size - sides)
    points = corners[:, None] + torch.rand(count, KEYPOINTS, 2) * sides[:, None]
    visible = (torch.rand(count, KEYPOINTS, 1) < 0.8).float()
    boxes, labels = torch.cat([corners, corners + sides], 1), torch.randint(1, classes, (count,))
    return torch.rand(3, height, width), {
        "boxes": boxes,
        "labels": labels,
        "keypoints": torch.cat([points, visible], 2),
    }


def train(args):
    torch.manual_seed(0)
    maker, classes = MODELS[args.model]
    model = maker(weights=None, weights_backbone=None, num_classes=classes).to(args.device).train()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.001, momentum=0.9)
    for _ in range(args.iters):
        samples = [make_sample(args.height, args.width, classes, args.boxes) for _ in range(args.bs)]
        images = [image.to(args.device) for image, _ in samples]
        targets = [{key: value.to(args.device) for key, value in target.items()} for _, target in samples]
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.prec == "bf16"):
            loss = sum(model(images, targets).values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="ssd")
    parser.add_argument("--prec", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--bs", type=int, default=2)
    parser.add_argument("--boxes", type=int, default=10, help="of an image at most")
    parser.add_argument("--height", type=int, default=480)
    parser.add_argument("--width", type=int, default=640)
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
