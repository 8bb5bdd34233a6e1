"""A U-Net for segmenting 256 x 256 images, with Adam."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn


def double_conv(channels_in, channels_out):
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, 3, padding=1),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(inplace=True),
        nn.Conv2d(channels_out, channels_out, 3, padding=1),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, widths=(32, 64, 128, 256, 512), classes=2):
        super().__init__()
        self.down = nn.ModuleList(map(double_conv, (3, *widths[:-1]), widths))
        wide_to_narrow = list(zip(widths[:0:-1], widths[-2::-1], strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose2d(wide, narrow, 2, stride=2) for wide, narrow in wide_to_narrow)
        self.merge = nn.ModuleList(double_conv(2 * narrow, narrow) for _, narrow in wide_to_narrow)
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        skips = []
        for down in self.down[:-1]:
            skips.append(down(x))
            x = F.max_pool2d(skips[-1], 2)
        x = self.down[-1](x)
        for up, merge in zip(self.up, self.merge, strict=True):
            x = merge(torch.cat([up(x), skips.pop()], dim=1))
        return self.head(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()

    model = UNet().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(args.steps):
        images = torch.randn(args.batch_size, 3, 256, 256).cuda()
        masks = torch.randint(2, (args.batch_size, 256, 256)).cuda()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), masks)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
