"""Real numbers, and Bernoulli draws with one probability: `uniform_`, `normal_`, `exponential_`, `bernoulli_`, ...

Known limitations: what goes through a logarithm, a sine, a tangent or an exponential agrees with the GPU, whose fast
functions are less precise, to about six digits. Uniform numbers and Bernoulli draws are exact.
"""

from __future__ import annotations

import math
from typing import Any

from veritasest.engines.emulated.steering.random.layout import Source


def unit(torch: Any, words: Any) -> Any:
    """In (0, 1], in single precision; upstream: curand_uniform4."""
    return words.to(torch.float32).mul_(2.0**-32).add_(2.0**-33)


def unit_double(torch: Any, words: Any) -> Any:
    """In (0, 1], from two words each; upstream: curand_uniform2_double."""
    bits = words[0::2] ^ (words[1::2] << 21)
    return bits.to(torch.float64).mul_(2.0**-53).add_(2.0**-54)


def _units(source: Source, numel: int, dtype: Any, transform: Any) -> Any:
    """`transform` gets float64 for float64, and float32 for all else."""
    torch = source.torch
    if dtype == torch.float64:
        return source.sweeps(numel, dtype, lambda words: transform(unit_double(torch, words)), unroll=2)
    return source.sweeps(numel, dtype, lambda words: transform(unit(torch, words)))


def uniform(source: Source, numel: int, dtype: Any, low: float, high: float) -> Any:
    """The interval does not include `high`: what was rounded to it becomes `low`."""
    torch = source.torch
    bounds = torch.tensor([low, high], dtype=dtype, device="cpu")
    width, base = (bounds[1] - bounds[0]).item(), bounds[0].item()

    def transform(value: Any) -> Any:
        if base == 0:
            value = value.mul_(width).to(dtype)
        else:  # one rounding for both steps, as a fused multiply-add has
            value = (
                value.to(torch.float64).mul_(width).add_(base).to(torch.promote_types(dtype, torch.float32)).to(dtype)
            )
        return torch.where(value == bounds[1], bounds[0], value)

    return _units(source, numel, dtype, transform)


def normal(source: Source, numel: int, dtype: Any, mean: float, std: float) -> Any:
    """The Box-Muller transform, sine first; upstream: curand_normal4, curand_normal2_double."""
    torch = source.torch

    def pairs(radius: Any, angle: Any) -> Any:
        radius = radius.log_().mul_(-2).sqrt_()
        both = torch.stack((angle.sin().mul_(radius), angle.cos().mul_(radius)), dim=1)
        return both.flatten(0, 1).mul_(std).add_(mean)

    def double(words: Any) -> Any:
        units = unit_double(torch, words)
        return pairs(units[0::2], units[1::2] * (2 * math.pi))

    def single(words: Any) -> Any:
        units = unit(torch, words)
        return pairs(units[0::2], units[1::2] * (2 * math.pi))

    if dtype == torch.float64:
        return source.sweeps(numel, dtype, double, unroll=2, together=4)
    return source.sweeps(numel, dtype, single, together=2)


def log_normal(source: Source, numel: int, dtype: Any, mean: float, std: float) -> Any:
    torch = source.torch
    return normal(source, numel, torch.promote_types(dtype, torch.float32), mean, std).exp_().to(dtype)


def exponential(source: Source, numel: int, dtype: Any, rate: float) -> Any:
    """Never zero: next to one, the logarithm is replaced by half an epsilon."""
    torch = source.torch
    half = torch.finfo(torch.promote_types(dtype, torch.float32)).eps / 2

    def transform(value: Any) -> Any:
        return torch.where(value >= 1 - half, -half, value.log()).mul_(-1 / rate)

    return _units(source, numel, dtype, transform)


def geometric(source: Source, numel: int, dtype: Any, p: float) -> Any:
    return _units(source, numel, dtype, lambda value: value.log_().div_(math.log1p(-p)).ceil_())


def cauchy(source: Source, numel: int, dtype: Any, median: float, sigma: float) -> Any:
    """In single precision the ends, where the GPU's fast tangent would overflow, are clamped."""
    edge = 0.0 if dtype == source.torch.float64 else source.torch.finfo(source.torch.float32).eps

    def transform(value: Any) -> Any:
        return value.clamp_(edge, 1 - edge).sub_(0.5).mul_(math.pi).tan_().mul_(sigma).add_(median)

    return _units(source, numel, dtype, transform)


def bernoulli(source: Source, numel: int, dtype: Any, p: float) -> Any:
    torch = source.torch
    bound = torch.tensor(p, dtype=torch.float64 if dtype == torch.float64 else torch.float32, device="cpu")
    return _units(source, numel, dtype, lambda value: value < bound)
