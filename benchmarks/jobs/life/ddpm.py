"""Denoising diffusion with a U-Net: a moving average of the weights paints a grid of pictures every few epochs."""

import argparse
import copy

import torch
import torch.nn.functional as F
from parts import Amp, Images, UNet, add_options, make_optimizer
from torch.utils.data import DataLoader


@torch.no_grad()
def paint(model, count, size, steps, signal):
    images = torch.randn(count, 3, size, size, device="cuda")
    for step in reversed(range(0, len(signal), len(signal) // steps)):
        times = torch.full((count,), step / len(signal), device="cuda")
        noise = model(images, times)
        clean = (images - (1 - signal[step]).sqrt() * noise) / signal[step].sqrt()
        before = signal[max(step - len(signal) // steps, 0)]
        images = before.sqrt() * clean + (1 - before).sqrt() * noise
    return images.clamp(-1, 1)


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=16, epochs=4, optimizer="adam")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--paint-every", type=int, default=2, help="epochs")
    parser.add_argument("--paint", type=int, default=64)
    parser.add_argument("--paint-steps", type=int, default=10)
    parser.add_argument("--ema", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = UNet(width=args.width, timed=True).cuda()
    average = copy.deepcopy(model).eval().requires_grad_(False) if args.ema else None
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    signal = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0).cuda()
    loader = DataLoader(Images(args.batches * args.batch_size, args.size), args.batch_size, shuffle=True)
    for epoch in range(1, args.epochs + 1):
        model.train()
        for images, _ in loader:
            images = images.cuda() * 2 - 1
            steps = torch.randint(1000, (len(images),), device="cuda")
            kept, noise = signal[steps][:, None, None, None], torch.randn_like(images)
            with amp.autocast():
                found = model(kept.sqrt() * images + (1 - kept).sqrt() * noise, steps / 1000)
                loss = F.mse_loss(found.float(), noise)
            optimizer.zero_grad(set_to_none=True)
            amp.backward(loss)
            amp.step(optimizer)
            if average is not None:
                for ours, theirs in zip(average.parameters(), model.parameters(), strict=True):
                    ours.lerp_(theirs.detach(), 0.005)
        print(f"epoch {epoch}: {loss.item():.4f}")
        if epoch % args.paint_every == 0:
            with amp.autocast():
                grid = paint((average or model).eval(), args.paint, args.size, args.paint_steps, signal).cpu()
            print(tuple(grid.shape))


if __name__ == "__main__":
    main()
