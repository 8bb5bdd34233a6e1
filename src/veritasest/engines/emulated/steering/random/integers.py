"""Integers: `random_`, in all its forms.

The remainder of 32 random bits, or of 64 where the range is wide: ATen/core/TransformationHelper.h (`uniform_int...`).
"""

from __future__ import annotations

from typing import Any

from veritasest.engines.emulated.steering.random.layout import Source

WIDE = 1 << 28  # ranges from this size on take 64 bits; upstream: random_from_to_kernel
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # whole numbers up to 2**digits are exact
UNSIGNED_64 = 1 << 64


def random_any(source: Source, numel: int, dtype: Any) -> Any:
    """Without bounds: every non-negative number that the type represents exactly."""
    torch = source.torch
    if dtype == torch.bool:
        limit = 2
    elif dtype.is_floating_point:
        limit = (1 << DIGITS[_name(dtype)]) + 1
    else:
        limit = torch.iinfo(dtype).max + 1
    if dtype in (torch.int64, torch.float64):
        return long_words(source, numel, dtype, lambda value: remainder(torch, value, limit))
    return source.sweeps(numel, dtype, lambda value: value.remainder_(limit))


def random_between(source: Source, numel: int, dtype: Any, low: int, high: int | None) -> Any | None:
    """From `low` to `high`, which is excluded. None: the type cannot represent the bounds, and PyTorch moves them."""
    torch = source.torch
    if high is None and low == LOWEST:
        return long_words(source, numel, dtype, lambda value: value)
    if dtype.is_floating_point and (high is None or max(abs(low), abs(high)) > 1 << DIGITS[_name(dtype)]):
        return None
    if high is None:
        high = 2 if dtype == torch.bool else torch.iinfo(dtype).max + 1
    width = high - low
    if width >= WIDE:
        return long_words(source, numel, dtype, lambda value: remainder(torch, value, width).add_(low))
    return source.sweeps(numel, dtype, lambda value: value.remainder_(width).add_(low))


def long_words(source: Source, numel: int, dtype: Any, convert: Any) -> Any:
    """64 random bits for each element, two from each block; the first word is the upper half."""
    return source.sweeps(numel, dtype, lambda value: convert((value[0::2] << 32) | value[1::2]), unroll=2)


def remainder(torch: Any, bits: Any, divisor: int) -> Any:
    """Of unsigned 64-bit numbers, stored as int64. Halved, they can be divided as signed ones; the doubled quotient is
    then at most one too small."""
    if divisor > HIGHEST:
        negative = divisor - UNSIGNED_64
        return torch.where((bits < 0) & (bits >= negative), bits - negative, bits)
    quotient = ((bits >> 1) & HIGHEST).div_(divisor, rounding_mode="floor").mul_(2)
    left = bits - quotient * divisor
    return torch.where((left < 0) | (left >= divisor), left - divisor, left)


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
