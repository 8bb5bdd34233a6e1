"""Gradient accumulation with clipping and a GradScaler: four fp16 micro-batches to one optimizer step."""

import argparse

import torch
import torch.nn.functional as F
from torchvision.models import resnet18


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=32, help="images in a micro-batch")
    parser.add_argument("--accumulate", type=int, default=4, help="micro-batches in an optimizer step")
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()

    model = resnet18(weights=None).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")

    for step in range(args.steps):
        for _ in range(args.accumulate):
            images = torch.randn(args.batch_size, 3, 224, 224).cuda()
            labels = torch.randint(1000, (args.batch_size,)).cuda()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = F.cross_entropy(model(images), labels) / args.accumulate
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item() * args.accumulate:.3f}")


if __name__ == "__main__":
    main()
