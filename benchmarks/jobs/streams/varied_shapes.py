"""Images of sizes that change from batch to batch, with cudnn.benchmark or autocast, as in multi-scale training."""

import argparse
import random

import torch
import torch.nn.functional as F
import torchvision


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--smallest", type=int, default=96)
    parser.add_argument("--largest", type=int, default=192)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--benchmark", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = args.benchmark
    dice, layout = random.Random(0), torch.channels_last if args.channels_last else torch.contiguous_format
    model = torchvision.models.get_model(args.model, weights=None, num_classes=10).to("cuda", memory_format=layout)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(args.steps):
        size = 32 * dice.randint(args.smallest // 32, args.largest // 32)
        images, labels = torch.rand(args.batch_size, 3, size, size), torch.randint(10, (args.batch_size,))
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=args.bf16):
            loss = F.cross_entropy(model(images.to("cuda", memory_format=layout)), labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


if __name__ == "__main__":
    main()
