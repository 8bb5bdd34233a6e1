"""Writes a checkpoint after each epoch, starts again from one half-way, and tests the best at the end."""

import argparse
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, classifier, make_optimizer
from safetensors.torch import load_file, save_file
from torch.utils.data import DataLoader


def save(path, model, optimizer, epoch, kind):
    if kind == "safetensors":
        save_file(model.state_dict(), path)
    elif kind == "host":
        torch.save({name: value.cpu() for name, value in model.state_dict().items()}, path)
    else:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)


def load(path, model, optimizer, kind, where):
    if kind == "safetensors":
        model.load_state_dict(load_file(path, device=where))
    elif kind == "host":
        model.load_state_dict(torch.load(path, map_location=where))
    else:
        state = torch.load(path, map_location=where)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=32, epochs=3)
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--kind", choices=["whole", "host", "safetensors"], default="whole")
    parser.add_argument("--where", default="cuda", help="where a checkpoint is read to")
    parser.add_argument("--resume-at", type=int, default=1, help="epoch at which to start again, or -1")
    parser.add_argument("--batches", type=int, default=6)
    args = parser.parse_args()
    torch.manual_seed(0)

    def build():
        model = classifier(args.model).cuda()
        return model, make_optimizer(args.optimizer, model.parameters())

    model, optimizer = build()
    amp = Amp(args.precision)
    train = DataLoader(Images(args.batches * args.batch_size, args.size), args.batch_size, shuffle=True)
    test = DataLoader(Images(2 * args.batch_size, args.size), args.batch_size)
    with tempfile.TemporaryDirectory() as folder:
        last = Path(folder) / "last.ckpt"
        for epoch in range(args.epochs):
            if epoch and epoch == args.resume_at:
                model, optimizer = build()
                load(last, model, optimizer, args.kind, args.where)
            model.train()
            for images, labels in train:
                with amp.autocast():
                    loss = F.cross_entropy(model(images.cuda()), labels.cuda())
                optimizer.zero_grad()
                amp.backward(loss)
                amp.step(optimizer)
            save(last, model, optimizer, epoch, args.kind)
            print(f"epoch {epoch}: {loss.item():.3f}, {last.stat().st_size} bytes")
        load(last, model, optimizer, args.kind, args.where)
        model.eval()
        with torch.inference_mode():
            right = sum((model(x.cuda()).argmax(1).cpu() == y).sum().item() for x, y in test)
    print(f"{right} right")


if __name__ == "__main__":
    main()
