"""Batches are copied ahead on a stream of their own, and handed over with record_stream."""

import argparse

import torch
import torch.nn.functional as F
import torchvision


class Prefetcher:
    def __init__(self, batches, depth):
        self.batches, self.stream, self.ready = batches, torch.cuda.Stream(), []
        for _ in range(depth):
            self.fetch()

    def fetch(self):
        batch = next(self.batches, None)
        if batch is None:
            return
        with torch.cuda.stream(self.stream):
            images, labels = (part.to("cuda", non_blocking=True) for part in batch)
            self.ready.append((images.float().div_(255).sub_(0.5), labels))

    def __iter__(self):
        while self.ready:
            torch.cuda.current_stream().wait_stream(self.stream)
            batch = self.ready.pop(0)
            for part in batch:
                part.record_stream(torch.cuda.current_stream())
            self.fetch()
            yield batch


def batches(args):
    for _ in range(args.steps):
        size = (args.batch_size, 3, args.size, args.size)
        yield (
            torch.randint(256, size, dtype=torch.uint8).pin_memory(),
            torch.randint(10, (args.batch_size,)).pin_memory(),
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--read-every", type=int, default=0, help="steps after which the loss is read")
    parser.add_argument("--benchmark", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = args.benchmark
    model = torchvision.models.get_model(args.model, weights=None, num_classes=10).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for step, (images, labels) in enumerate(Prefetcher(batches(args), args.depth), 1):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=args.bf16):
            loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if args.read_every and step % args.read_every == 0:
            print(f"step {step}: {loss.item():.3f}")
    print(f"{loss.item():.3f}")


if __name__ == "__main__":
    main()
