"""DCGAN: two optimizers, samples of fixed noise every few batches, both networks saved after each epoch."""

import argparse
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, discriminator, generator, make_optimizer
from torch.utils.data import DataLoader


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=64, optimizer="adam")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--draw-every", type=int, default=10)
    parser.add_argument("--draw", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(0)
    maker, judge = generator(args.size, args.width).cuda(), discriminator(args.size, args.width).cuda()
    optimizer_d = make_optimizer(args.optimizer, judge.parameters())
    optimizer_g = make_optimizer(args.optimizer, maker.parameters())
    amp, fixed = Amp(args.precision), torch.randn(args.draw, 100, 1, 1, device="cuda")
    loader = DataLoader(Images(args.samples, args.size), args.batch_size, shuffle=True, num_workers=2)
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(args.epochs):
            for number, (real, _) in enumerate(loader):
                real = real.cuda()
                judge.zero_grad()
                with amp.autocast():
                    fake = maker(torch.randn(len(real), 100, 1, 1, device="cuda"))
                    scores = judge(real), judge(fake.detach())
                    loss_d = sum(
                        F.binary_cross_entropy_with_logits(score, torch.full_like(score, label))
                        for score, label in zip(scores, (1.0, 0.0), strict=True)
                    )
                amp.backward(loss_d)
                amp.step(optimizer_d)
                maker.zero_grad()
                with amp.autocast():
                    score = judge(fake)
                    loss_g = F.binary_cross_entropy_with_logits(score, torch.ones_like(score))
                amp.backward(loss_g)
                amp.step(optimizer_g)
                if number % args.draw_every == args.draw_every - 1:
                    with torch.no_grad():
                        drawn = maker(fixed).detach().cpu()
                    print(f"{epoch}/{number}: {loss_d.item():.3f} {loss_g.item():.3f} {tuple(drawn.shape)}")
            torch.save(maker.state_dict(), Path(folder) / f"maker_{epoch}.pt")
            torch.save(judge.state_dict(), Path(folder) / f"judge_{epoch}.pt")


if __name__ == "__main__":
    main()
