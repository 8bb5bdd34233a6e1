"""One training run of two networks against each other: DCGAN, WGAN with gradient penalty, or pix2pix, on noise."""

import argparse
import itertools

import torch
import torch.nn.functional as F
from common import Precision, add_training_options, make_optimizers
from torch import nn

LATENT = 100


def down(inputs, outputs, norm=nn.BatchNorm2d, stride=2):
    layers = [nn.Conv2d(inputs, outputs, 4, stride, 1), *([norm(outputs)] if norm else [])]
    return nn.Sequential(*layers, nn.LeakyReLU(0.2))


def up(inputs, outputs, stride=2, padding=1, dropout=0.0):
    layers = [nn.ConvTranspose2d(inputs, outputs, 4, stride, padding), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([nn.Dropout(dropout)] if dropout else []), nn.ReLU())


def widths_of(size, width):
    """From 4x4 cells up to half the size, each level half as wide as the one before."""
    levels = size.bit_length() - 3
    return [width * 2**level for level in reversed(range(levels))]


def dcgan_generator(size, width):
    widths = widths_of(size, width)
    layers = [up(LATENT, widths[0], stride=1, padding=0)]
    layers += [up(wide, narrow) for wide, narrow in itertools.pairwise(widths)]
    return nn.Sequential(*layers, nn.ConvTranspose2d(widths[-1], 3, 4, 2, 1), nn.Tanh())


def dcgan_discriminator(size, width, norm):
    widths = widths_of(size, width)[::-1]
    layers = [down(3, widths[0], norm=None)]
    layers += [down(narrow, wide, norm) for narrow, wide in itertools.pairwise(widths)]
    return nn.Sequential(*layers, nn.Conv2d(widths[-1], 1, 4), nn.Flatten())


class UNetGenerator(nn.Module):
    """From image to image, through 1x1 cells for a size of 256."""

    def __init__(self, width):
        super().__init__()
        widths = [width, 2 * width, 4 * width, *[8 * width] * 5]
        pairs = list(itertools.pairwise(widths))
        norms = [*[nn.BatchNorm2d] * (len(pairs) - 1), None]  # one value per channel cannot be normalised
        self.down = nn.ModuleList([down(3, width, norm=None)])
        self.down.extend(down(*pair, norm) for pair, norm in zip(pairs, norms, strict=True))
        self.up = nn.ModuleList()
        for place, (narrow, wide) in enumerate(reversed(pairs)):
            self.up.append(up(wide if place == 0 else 2 * wide, narrow, dropout=0.5 if place < 3 else 0.0))
        self.head = nn.ConvTranspose2d(2 * width, 3, 4, 2, 1)

    def forward(self, x):
        skips = []
        for layer in self.down:
            x = layer(x)
            skips.append(x)
        skips.pop()
        for layer in self.up:
            x = torch.cat([layer(x), skips.pop()], dim=1)
        return self.head(x).tanh()


def patch_discriminator(width):
    """Judges every patch of a pair of images."""
    layers = [down(6, width, norm=None), down(width, 2 * width), down(2 * width, 4 * width)]
    return nn.Sequential(*layers, down(4 * width, 8 * width, stride=1), nn.Conv2d(8 * width, 1, 4, padding=1))


class Rivals(nn.Module):
    def __init__(self, generator, discriminator, paired):
        super().__init__()
        self.generator = generator
        self.discriminator = discriminator
        self.paired = paired

    def judge(self, source, image):
        return self.discriminator(torch.cat([source, image], dim=1) if self.paired else image)

    def forward(self, source):
        return self.judge(source, self.generator(source))


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=["dcgan", "pix2pix"], default="dcgan")
    parser.add_argument("--size", type=int, default=64, help="side of DCGAN's images, a power of two; pix2pix has 256")
    parser.add_argument("--width", type=int, default=64, help="channels of the widest resolution")
    parser.add_argument("--gradient-penalty", action="store_true", help="DCGAN's networks trained as WGAN-GP")
    add_training_options(parser, optimizer="adam", batch_size=128)
    return parser.parse_args(words)


def build(options):
    """Both networks, in one module."""
    if options.model == "pix2pix":
        return Rivals(UNetGenerator(options.width), patch_discriminator(options.width), paired=True)
    norm = nn.InstanceNorm2d if options.gradient_penalty else nn.BatchNorm2d
    discriminator = dcgan_discriminator(options.size, options.width, norm)
    return Rivals(dcgan_generator(options.size, options.width), discriminator, paired=False)


def batch(options):
    """The positional inputs of the model: what the generator starts from."""
    if options.model == "pix2pix":
        return (torch.rand(options.batch_size, 3, 256, 256),)
    return (torch.randn(options.batch_size, LATENT, 1, 1),)


def real_images(options):
    side = 256 if options.model == "pix2pix" else options.size
    return torch.rand(options.batch_size, 3, side, side) * 2 - 1


def gradient_penalty(rivals, real, fake):
    share = torch.rand(len(real), 1, 1, 1, device=real.device, dtype=real.dtype)
    between = (share * real + (1 - share) * fake).requires_grad_()
    scores = rivals.judge(None, between)
    (gradient,) = torch.autograd.grad(scores.sum(), between, create_graph=True)
    return 10 * (gradient.flatten(1).norm(dim=1) - 1).square().mean()


def verdict_loss(scores, real):
    return F.binary_cross_entropy_with_logits(scores, torch.full_like(scores, float(real)))


def discriminator_loss(options, rivals, source, real, fake):
    real_scores, fake_scores = rivals.judge(source, real), rivals.judge(source, fake)
    if options.gradient_penalty:
        return fake_scores.mean() - real_scores.mean() + gradient_penalty(rivals, real, fake)
    return (verdict_loss(real_scores, True) + verdict_loss(fake_scores, False)) / 2


def generator_loss(options, rivals, source, real, fake):
    scores = rivals.judge(source, fake)
    if options.gradient_penalty:
        return -scores.mean()
    loss = verdict_loss(scores, True)
    return loss + 100 * F.l1_loss(fake, real) if rivals.paired else loss


def main():
    options = parse()
    torch.manual_seed(0)
    precision = Precision(options.precision)
    rivals = build(options).to("cuda", precision.dtype).train()
    generator_optimizers = make_optimizers(options.optimizer, rivals.generator.parameters())
    discriminator_optimizers = make_optimizers(options.optimizer, rivals.discriminator.parameters())
    for _ in range(options.iterations):
        source = batch(options)[0].to("cuda", precision.dtype)
        real = real_images(options).to("cuda", precision.dtype)
        with precision.autocast():
            fake = rivals.generator(source)
            loss = discriminator_loss(options, rivals, source, real, fake.detach())
        for optimizer in discriminator_optimizers:
            optimizer.zero_grad()
        precision.scaler.scale(loss).backward()
        precision.step(discriminator_optimizers)
        with precision.autocast():
            loss = generator_loss(options, rivals, source, real, fake)
        for optimizer in generator_optimizers:
            optimizer.zero_grad()
        precision.scaler.scale(loss).backward()
        precision.step(generator_optimizers)
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
