"""One training run of a diffusion model that learns to tell the noise: a U-Net with attention, or a transformer."""

import argparse
import math

import torch
import torch.nn.functional as F
from common import Precision, add_training_options, make_optimizers
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

TIMES = 1000


class TimeEmbedding(nn.Module):
    """Sines and cosines of a time, through two layers."""

    def __init__(self, waves, width):
        super().__init__()
        self.waves = waves
        self.layers = nn.Sequential(nn.Linear(waves, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, times):
        exponents = torch.arange(self.waves // 2, device=times.device) / (self.waves // 2)
        angles = times[:, None] * torch.exp(-math.log(10000) * exponents)
        waves = torch.cat([angles.sin(), angles.cos()], dim=1)
        return self.layers(waves.to(self.layers[0].weight.dtype))


class Residual(nn.Module):
    """Two convolutions, the time added between them."""

    def __init__(self, inputs, outputs, time, dropout=0.1):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(32, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1))
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(time, outputs))
        self.norm = nn.Sequential(nn.GroupNorm(32, outputs), nn.SiLU(), nn.Dropout(dropout))
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time):
        hidden = self.first(x) + self.time(time)[:, :, None, None]
        return self.skip(x) + self.second(self.norm(hidden))


class Attention(nn.Module):
    """Every cell looks at every other one."""

    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(32, width)
        self.inputs = nn.Conv2d(width, 3 * width, 1)
        self.output = nn.Conv2d(width, width, 1)

    def forward(self, x):
        parts = self.inputs(self.norm(x)).unflatten(1, (3, self.heads, -1)).flatten(4).transpose(3, 4)
        seen = F.scaled_dot_product_attention(*parts.unbind(1))
        return x + self.output(seen.transpose(2, 3).reshape(x.shape))


class Level(nn.Module):
    """The blocks of one resolution; those at a low one attend as well."""

    def __init__(self, widths, time, attend):
        super().__init__()
        self.blocks = nn.ModuleList(Residual(inputs, outputs, time) for inputs, outputs in widths)
        self.attentions = nn.ModuleList(Attention(outputs) if attend else nn.Identity() for _, outputs in widths)

    def forward(self, x, time):
        for block, attention in zip(self.blocks, self.attentions, strict=True):
            x = attention(block(x, time))
        return x


class UNet(nn.Module):
    """The resolution halves from level to level; the two lowest attend."""

    def __init__(self, width, channels=3, factors=(1, 2, 4, 4)):
        super().__init__()
        time = 4 * width
        widths = [width * factor for factor in factors]
        pairs = list(zip([width, *widths], widths, strict=False))
        self.time = TimeEmbedding(width, time)
        self.stem = nn.Conv2d(channels, width, 3, padding=1)
        self.down, self.shrink, self.up, self.enlarge = (nn.ModuleList() for _ in range(4))
        for place, (inputs, outputs) in enumerate(pairs):
            attend = place >= len(pairs) - 2
            self.down.append(Level([(inputs, outputs), (outputs, outputs)], time, attend))
            self.shrink.append(nn.Conv2d(outputs, outputs, 3, 2, 1))
            self.up.insert(0, Level([(2 * outputs, outputs), (outputs, inputs)], time, attend))
            self.enlarge.insert(0, nn.Conv2d(outputs, outputs, 3, padding=1))
        self.middle = Level([(widths[-1], widths[-1])] * 2, time, attend=True)
        self.head = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, channels, 3, padding=1))

    def forward(self, images, times):
        time = self.time(times)
        x = self.stem(images)
        skips = []
        for level, shrink in zip(self.down, self.shrink, strict=True):
            x = level(x, time)
            skips.append(x)
            x = shrink(x)
        x = self.middle(x, time)
        for level, enlarge in zip(self.up, self.enlarge, strict=True):
            x = enlarge(F.interpolate(x, scale_factor=2))
            x = level(torch.cat([x, skips.pop()], dim=1), time)
        return self.head(x)


class ModulatedBlock(nn.Module):
    """A transformer block whose norms are shifted, scaled and gated by the time (adaLN)."""

    def __init__(self, width, heads):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width, elementwise_affine=False) for _ in range(2))
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.layers = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))

    def forward(self, x, time):
        shift, scale, gate, shift2, scale2, gate2 = self.modulation(time)[:, None].chunk(6, dim=-1)
        normal = self.norms[0](x) * (1 + scale) + shift
        x = x + gate * self.attention(normal, normal, normal, need_weights=False)[0]
        return x + gate2 * self.layers(self.norms[1](x) * (1 + scale2) + shift2)


class DiT(nn.Module):
    """A transformer over patches of 2x2 cells of a latent image."""

    def __init__(self, width, depth, size, channels=4, patch=2):
        super().__init__()
        self.patch = patch
        self.time = TimeEmbedding(256, width)
        self.embed = nn.Conv2d(channels, width, patch, patch)
        self.places = nn.Parameter(torch.zeros(1, (size // patch) ** 2, width))
        self.blocks = nn.ModuleList(ModulatedBlock(width, width // 64) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, channels * patch**2)

    def forward(self, latents, times):
        time = self.time(times)
        x = self.embed(latents).flatten(2).transpose(1, 2) + self.places
        for block in self.blocks:
            x = block(x, time)
        patches = self.head(self.norm(x)).transpose(1, 2)
        return F.fold(patches, latents.shape[-2:], self.patch, stride=self.patch)


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=["unet", "dit"], default="unet")
    parser.add_argument("--size", type=int, default=32, help="side of the images or latents")
    parser.add_argument("--width", type=int, default=128, help="channels of the first level, or of the transformer")
    parser.add_argument("--depth", type=int, default=12, help="blocks of the transformer")
    parser.add_argument("--ema", action="store_true", help="keep a moving average of the model")
    parser.add_argument("--clip", action="store_true", help="clip the norm of the gradients")
    add_training_options(parser, batch_size=64)
    return parser.parse_args(words)


def build(options):
    if options.model == "dit":
        return DiT(options.width, options.depth, options.size)
    return UNet(options.width)


def batch(options):
    """The positional inputs of the model: images and a time for each."""
    channels = 4 if options.model == "dit" else 3
    images = torch.randn(options.batch_size, channels, options.size, options.size)
    return images, torch.randint(TIMES, (options.batch_size,))


def noise_loss(model, images, signal):
    times = torch.randint(TIMES, (len(images),), device=images.device)
    noise = torch.randn_like(images)
    share = signal[times][:, None, None, None]
    noisy = share.sqrt() * images + (1 - share).sqrt() * noise
    return F.mse_loss(model(noisy, times), noise)


def main():
    options = parse()
    torch.manual_seed(0)
    precision = Precision(options.precision)
    model = build(options).to("cuda", precision.dtype).train()
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9999)) if options.ema else None
    optimizers = make_optimizers(options.optimizer, model.parameters())
    signal = torch.cumprod(1 - torch.linspace(1e-4, 0.02, TIMES), 0).to("cuda", precision.dtype)
    for _ in range(options.iterations):
        images, _ = batch(options)
        images = images.to("cuda", precision.dtype)
        for optimizer in optimizers:
            optimizer.zero_grad()
        with precision.autocast():
            loss = noise_loss(model, images, signal)
        precision.scaler.scale(loss).backward()
        if options.clip:
            for optimizer in optimizers:
                precision.scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        precision.step(optimizers)
        if average:
            average.update_parameters(model)
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
