"""A training loop with accelerate: accumulation, clipping, evaluation with gathered answers, saved states."""

import argparse
import tempfile

import torch
import torch.nn.functional as F
import torchvision
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, count, size):
        self.count, self.size = count, size

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.rand(3, self.size, self.size), index % 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--eval-batch-size", type=int, default=64)
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--save", choices=["no", "epoch", "steps"], default="epoch")
    parser.add_argument("--resume", action="store_true", help="read the last state before the last epoch")
    parser.add_argument("--unwrap", action="store_true", help="save the bare model with safetensors at the end")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32")
    args = parser.parse_args()
    set_seed(0)
    mixed = "no" if args.precision == "fp32" else args.precision
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulate, mixed_precision=mixed)
    model = torchvision.models.get_model(args.model, weights=None, num_classes=10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    train = DataLoader(Images(args.samples, args.size), args.batch_size, shuffle=True)
    test = DataLoader(Images(args.eval_batch_size + 11, args.size), args.eval_batch_size)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(train))
    model, optimizer, train, test, rate = accelerator.prepare(model, optimizer, train, test, rate)
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(args.epochs):
            if args.resume and epoch and epoch == args.epochs - 1:
                accelerator.load_state(folder)
            model.train()
            for step, (images, labels) in enumerate(train, 1):
                with accelerator.accumulate(model):
                    loss = F.cross_entropy(model(images), labels)
                    accelerator.backward(loss)
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    rate.step()
                    optimizer.zero_grad()
                if args.save == "steps" and step % 5 == 0:
                    accelerator.save_state(folder)
            model.eval()
            right = 0
            for images, labels in test:
                with torch.no_grad():
                    scores = model(images)
                found, labels = accelerator.gather_for_metrics((scores.argmax(-1), labels))
                right += (found == labels).sum().item()
            accelerator.print(f"epoch {epoch}: {loss.item():.3f}, {right} right")
            if args.save == "epoch":
                accelerator.save_state(folder)
        if args.unwrap:
            accelerator.wait_for_everyone()
            accelerator.save_model(accelerator.unwrap_model(model), folder)


if __name__ == "__main__":
    main()
