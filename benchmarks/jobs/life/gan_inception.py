"""A GAN whose pictures are scored by features of an Inception network after some epochs, as FID does."""

import argparse

import torch
import torch.nn.functional as F
import torchvision
from parts import Amp, Images, add_options, discriminator, generator, make_optimizer
from torch import nn
from torch.utils.data import DataLoader


@torch.no_grad()
def statistics(network, batches):
    found = torch.cat([network(F.interpolate(x, (299, 299), mode="bilinear")).float().cpu() for x in batches])
    centred = found - found.mean(0)
    return found.mean(0), centred.T @ centred / (len(found) - 1)


def score(maker, loader, count, batch):
    network = torchvision.models.inception_v3(weights=None, init_weights=False, aux_logits=True)
    network.fc = nn.Identity()
    network = network.cuda().eval()
    real = statistics(network, (images.cuda() for images, _ in loader))
    maker.eval()
    noise = torch.randn(count, 100, 1, 1).split(batch)
    with torch.no_grad():
        made = statistics(network, (maker(part.cuda()) for part in noise))
    maker.train()
    return (real[0] - made[0]).square().sum() + (real[1] - made[1]).square().sum()


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=64, epochs=2, optimizer="adam")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--score-every", type=int, default=2, help="epochs")
    parser.add_argument("--score-batch", type=int, default=50)
    parser.add_argument("--score-images", type=int, default=100)
    args = parser.parse_args()
    torch.manual_seed(0)
    maker, judge = generator(args.size, args.width).cuda(), discriminator(args.size, args.width).cuda()
    optimizers = [make_optimizer(args.optimizer, part.parameters()) for part in (maker, judge)]
    amp = Amp(args.precision)
    loader = DataLoader(Images(args.batches * args.batch_size, args.size), args.batch_size, shuffle=True)
    held = DataLoader(Images(args.score_images, args.size), args.score_batch)
    for epoch in range(1, args.epochs + 1):
        for real, _ in loader:
            with amp.autocast():
                fake = maker(torch.randn(len(real), 100, 1, 1, device="cuda"))
                loss = F.softplus(-judge(real.cuda())).mean() + F.softplus(judge(fake.detach())).mean()
            optimizers[1].zero_grad()
            amp.backward(loss)
            amp.step(optimizers[1])
            with amp.autocast():
                loss = F.softplus(-judge(fake)).mean()
            optimizers[0].zero_grad()
            amp.backward(loss)
            amp.step(optimizers[0])
        print(f"epoch {epoch}: {loss.item():.3f}")
        if epoch % args.score_every == 0:
            print(f"score {score(maker, held, args.score_images, args.score_batch).item():.1f}")


if __name__ == "__main__":
    main()
