"""A vector-quantised autoencoder: codes by `argmin`, those in use by `unique`, dead ones restarted from the batch."""

import argparse
import json

import torch
import torch.nn.functional as F
from torch import nn


class Codebook(nn.Module):
    """Entries follow the mean of what chose them; entries that nothing chose for a while are drawn anew."""

    def __init__(self, entries, width, decay=0.9):
        super().__init__()
        self.decay = decay
        self.register_buffer("entries", torch.randn(entries, width))
        self.register_buffer("use", torch.ones(entries))

    def forward(self, x):
        flat = x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])
        with torch.no_grad():
            codes = torch.cdist(flat, self.entries).argmin(1)
            if self.training:
                self.follow(flat.detach(), codes)
        chosen = F.embedding(codes, self.entries).view(len(x), *x.shape[2:], -1).permute(0, 3, 1, 2)
        commitment = F.mse_loss(x, chosen)
        return x + (chosen - x).detach(), commitment, codes

    def follow(self, flat, codes):
        used, places, counts = torch.unique(codes, return_inverse=True, return_counts=True)
        sums = flat.new_zeros(len(used), flat.shape[1]).index_add_(0, places, flat)
        means = sums / counts[:, None]
        self.entries[used] = self.entries[used].lerp(means, 1 - self.decay)
        self.use.mul_(self.decay)
        self.use[used] += counts * (1 - self.decay)
        dead = (self.use < 0.9).nonzero().squeeze(1)
        if len(dead) > 0:
            fresh = torch.randperm(len(flat), device=flat.device)[: len(dead)]
            self.entries[dead[: len(fresh)]] = flat[fresh]
            self.use[dead] = 1.0


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(
            nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 1)
        )

    def forward(self, x):
        return x + self.net(x)


class Autoencoder(nn.Module):
    def __init__(self, entries, width=128, code=64):
        super().__init__()
        down = [nn.Conv2d(3, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 4, 2, 1)]
        self.encoder = nn.Sequential(*down, Residual(width), Residual(width), nn.Conv2d(width, code, 1))
        self.codebook = Codebook(entries, code)
        up = [nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(width, 3, 4, 2, 1)]
        self.decoder = nn.Sequential(nn.Conv2d(code, width, 1), Residual(width), Residual(width), *up)

    def forward(self, images):
        codes, commitment, numbers = self.codebook(self.encoder(images))
        return self.decoder(codes), commitment, numbers


def train(args):
    torch.manual_seed(0)
    model = Autoencoder(args.entries).to(args.device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    used = []
    for _ in range(args.iters):
        images = torch.rand(args.bs, 3, args.side, args.side).to(args.device)
        optimizer.zero_grad()
        restored, commitment, codes = model(images)
        loss = F.mse_loss(restored, images) + 0.25 * commitment
        loss.backward()
        optimizer.step()
        used.append(torch.bincount(codes, minlength=args.entries).gt(0).sum().item())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1024, help="of the codebook")
    parser.add_argument("--bs", type=int, default=32)
    parser.add_argument("--side", type=int, default=128, help="of the square images")
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
