"""A variational autoencoder: tested after each epoch on larger batches, then asked for samples."""

import argparse
import itertools

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, make_optimizer
from torch import nn
from torch.utils.data import DataLoader


class Dense(nn.Module):
    def __init__(self, size, channels, latent):
        super().__init__()
        self.shape = (channels, size, size)
        pixels = channels * size * size
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(pixels, 800), nn.ReLU())
        self.mean, self.spread = nn.Linear(800, latent), nn.Linear(800, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 800), nn.ReLU(), nn.Linear(800, pixels))

    def decode(self, latent):
        return torch.sigmoid(self.decoder(latent)).view(-1, *self.shape)

    def forward(self, images):
        hidden = self.encoder(images)
        mean, spread = self.mean(hidden), self.spread(hidden)
        drawn = mean + torch.randn_like(mean) * torch.exp(0.5 * spread)
        return self.decode(drawn), mean, spread


class Convolutional(Dense):
    def __init__(self, size, channels, latent, width=64):
        super().__init__(8, channels, latent)
        cells = (size // 8) ** 2
        steps = [channels, width, 2 * width, 4 * width]
        down = [layer for a, b in itertools.pairwise(steps) for layer in (nn.Conv2d(a, b, 4, 2, 1), nn.ReLU())]
        up = [layer for a, b in zip(steps[:0:-1], steps[-2::-1], strict=False)
              for layer in (nn.ReLU(), nn.ConvTranspose2d(a, b, 4, 2, 1))]  # fmt: skip
        self.shape = (channels, size, size)
        self.encoder = nn.Sequential(*down, nn.Flatten(), nn.Linear(4 * width * cells, 800), nn.ReLU())
        unflatten = nn.Unflatten(1, (4 * width, size // 8, size // 8))
        self.decoder = nn.Sequential(nn.Linear(latent, 4 * width * cells), unflatten, *up)


def loss_of(made, images, mean, spread):
    likeness = F.binary_cross_entropy(made.float(), images, reduction="sum")
    return likeness - 0.5 * torch.sum(1 + spread - mean.square() - spread.exp())


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=128, optimizer="adam")
    parser.add_argument("--kind", choices=["dense", "conv"], default="dense")
    parser.add_argument("--size", type=int, default=28)
    parser.add_argument("--channels", type=int, default=1)
    parser.add_argument("--latent", type=int, default=20)
    parser.add_argument("--samples", type=int, default=1280)
    parser.add_argument("--draw", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = (Dense if args.kind == "dense" else Convolutional)(args.size, args.channels, args.latent).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    train = DataLoader(Images(args.samples, args.size, args.channels), args.batch_size, shuffle=True)
    test = DataLoader(Images(args.samples // 2, args.size, args.channels), 2 * args.batch_size)
    for epoch in range(args.epochs):
        model.train()
        for images, _ in train:
            images = images.cuda()
            optimizer.zero_grad()
            with amp.autocast():
                found = model(images)
            loss = loss_of(found[0], images, found[1].float(), found[2].float())
            amp.backward(loss)
            amp.step(optimizer)
        model.eval()
        with torch.no_grad():
            for images, _ in test:
                images = images.cuda()
                made, mean, spread = model(images)
                score = loss_of(made, images, mean, spread)
            compared = torch.cat([images[:8], made[:8]]).cpu()
            drawn = model.decode(torch.randn(args.draw, args.latent, device="cuda")).cpu()
        print(f"epoch {epoch}: {loss.item():.1f}, test {score.item():.1f}, {len(compared)}, {tuple(drawn.shape)}")


if __name__ == "__main__":
    main()
