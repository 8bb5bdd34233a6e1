"""Segmentation that learns from its worst pixels: the number of pixels in the loss hangs on labels and losses."""

import argparse
import json

import torch
import torch.nn.functional as F
from torchvision.models import segmentation

MODELS = {
    "deeplab": segmentation.deeplabv3_resnet50,
    "fcn": segmentation.fcn_resnet50,
    "lraspp": segmentation.lraspp_mobilenet_v3_large,
}
CLASSES, IGNORED = 21, 255


def make_batch(bs, side):
    """Images with labels in squares of 16 pixels; one in eight belongs to no class and is ignored."""
    labels = torch.randint(CLASSES, (bs, side // 16, side // 16))
    labels[torch.rand(labels.shape) < 1 / 8] = IGNORED
    return torch.randn(bs, 3, side, side), labels.repeat_interleave(16, 1).repeat_interleave(16, 2)


def mined_loss(scores, labels, args):
    """The mean over hard pixels: a fixed share, those above a threshold, or those whose class is unlikely enough."""
    losses = F.cross_entropy(scores, labels, ignore_index=IGNORED, reduction="none")
    valid = labels != IGNORED
    if args.mining == "share":
        kept = int(args.share * valid.sum().item())
        return losses[valid].topk(kept).values.mean()
    losses = losses[valid]
    least = losses.numel() // 16
    if args.mining == "threshold":
        hard = losses[losses > args.threshold]
        return hard.mean() if hard.numel() >= least else losses.topk(least).values.mean()
    with torch.no_grad():
        shares = scores.softmax(1).permute(0, 2, 3, 1)[valid]
        shares = shares.gather(1, labels[valid][:, None]).squeeze(1)
        bound = max(shares.sort().values[least].item(), 0.05)
    return losses[shares <= bound].mean()


def train(args):
    torch.manual_seed(0)
    model = MODELS[args.model](weights=None, weights_backbone=None, num_classes=CLASSES).to(args.device).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(args.iters):
        images, labels = (part.to(args.device) for part in make_batch(args.bs, args.side))
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.prec == "bf16"):
            scores = model(images)["out"]
        loss = mined_loss(scores.float(), labels, args)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=MODELS, default="lraspp")
    parser.add_argument("--mining", choices=["share", "threshold", "likelihood"], default="share")
    parser.add_argument("--share", type=float, default=0.25, help="of the valid pixels that is kept")
    parser.add_argument("--threshold", type=float, default=3.0)
    parser.add_argument("--prec", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--bs", type=int, default=8)
    parser.add_argument("--side", type=int, default=384, help="of the square images")
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
