"""Metric learning on triplets found in the batch: the hardest of each anchor, or all that violate the margin."""

import argparse
import json

import torch
import torch.nn.functional as F
from torch import nn
from torchvision.models import resnet18

MARGIN = 0.2


def hardest(distances, labels):
    """For each anchor its farthest positive and its nearest negative."""
    same = labels[:, None] == labels
    positive = distances.masked_fill(~same, float("-inf")).argmax(1)
    negative = distances.masked_fill(same, float("inf")).argmin(1)
    return torch.arange(len(labels), device=labels.device), positive, negative


def violating(distances, labels, semihard):
    """All triplets whose negative is not farther than the positive by the margin; semihard: but farther than it."""
    same = labels[:, None] == labels
    other = ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    gap = distances[:, None, :] - distances[:, :, None]
    found = (same & other)[:, :, None] & ~same[:, None, :] & (gap < MARGIN)
    if semihard:
        found &= gap > 0
    return found.nonzero(as_tuple=True)


def triplet_loss(embeddings, labels, mining):
    with torch.no_grad():
        distances = torch.cdist(embeddings, embeddings)
        if mining == "hardest":
            anchors, positives, negatives = hardest(distances, labels)
        else:
            anchors, positives, negatives = violating(distances, labels, mining == "semihard")
    if len(anchors) == 0:
        return embeddings.sum() * 0
    near = (embeddings[anchors] - embeddings[positives]).pow(2).sum(1)
    far = (embeddings[anchors] - embeddings[negatives]).pow(2).sum(1)
    losses = F.relu(near - far + MARGIN)
    active = losses > 0
    return losses[active].mean() if active.any() else losses.sum()


def train(args):
    torch.manual_seed(0)
    model = resnet18(num_classes=args.width).to(args.device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    for _ in range(args.iters):
        # Images of one class look alike, so some triplets keep the margin from the start.
        centres = torch.randn(args.classes, 3, args.side, args.side).repeat_interleave(args.samples, 0)
        images = (centres + torch.randn(centres.shape)).to(args.device)
        labels = torch.arange(args.classes).repeat_interleave(args.samples).to(args.device)
        embeddings = F.normalize(model(images), dim=1)
        loss = triplet_loss(embeddings, labels, args.mining)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mining", choices=["hardest", "all", "semihard"], default="hardest")
    parser.add_argument("--classes", type=int, default=32, help="of a batch")
    parser.add_argument("--samples", type=int, default=4, help="of a class")
    parser.add_argument("--width", type=int, default=128, help="of the embeddings")
    parser.add_argument("--side", type=int, default=128, help="of the square images")
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
