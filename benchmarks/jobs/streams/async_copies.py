"""Weights and moments are copied to pinned memory on a side stream while training goes on, every few steps."""

import argparse

import torch
import torch.nn.functional as F
import torchvision


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--clone", action="store_true", help="clone on the GPU first")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = torchvision.models.get_model(args.model, weights=None, num_classes=10).cuda()
    optimizer, side = torch.optim.AdamW(model.parameters(), lr=1e-4), torch.cuda.Stream()
    hosts = {
        name: torch.empty(value.shape, dtype=value.dtype, pin_memory=True) for name, value in model.state_dict().items()
    }
    for step in range(1, args.steps + 1):
        images, labels = torch.rand(args.batch_size, 3, args.size, args.size), torch.randint(10, (args.batch_size,))
        loss = F.cross_entropy(model(images.cuda()), labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % args.every == 0:
            state = model.state_dict()
            if args.clone:
                state = {name: value.clone() for name, value in state.items()}
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for name, value in state.items():
                    hosts[name].copy_(value, non_blocking=True)
                    value.record_stream(side)
            del state
    side.synchronize()
    print(f"{loss.item():.3f}")


if __name__ == "__main__":
    main()
