"""Draws with kernels of their own: Bernoulli draws by a tensor of probabilities, dropout, permutations, multinomial."""

from __future__ import annotations

import math
from typing import Any

from veritasest.engines.emulated.steering.random.floats import exponential, unit
from veritasest.engines.emulated.steering.random.integers import random_between
from veritasest.engines.emulated.steering.random.layout import WORDS, Source

APPLY_BLOCK = 512  # threads of the kernel for tensors of probabilities; upstream: AT_APPLY_THREADS_PER_BLOCK
CHOICE_BLOCK = 128  # threads of the kernel for choices with replacement
MAX_ROWS = 65_535  # of a CUDA grid
EQUAL_KEYS = 0.9  # randperm: no two keys are equal with at least this probability
LOAD_BYTES = 16  # dropout: the most that a thread reads at a time


def bernoulli_each(source: Source, probabilities: Any, dtype: Any) -> Any:
    """One draw per probability. `probabilities` has the result's shape and is read in logical order."""
    torch = source.torch
    bounds = probabilities.to(torch.float64 if dtype == torch.float64 else torch.float32).reshape(-1)
    numel = bounds.numel()
    threads = APPLY_BLOCK * -(-numel // (APPLY_BLOCK * WORDS))  # the grid covers all at once
    drawn = source.neighbours(numel, torch.float32, lambda words: unit(torch, words), vector=WORDS, threads=threads)
    return (drawn <= bounds).to(dtype)


def dropout_mask(source: Source, numel: int, dtype: Any, p: float, address: int, *, dense: bool = True) -> Any:
    """In memory order, true for what is kept. Threads load as many elements at a time as alignment and size allow."""
    torch = source.torch
    if p == 1:
        return torch.zeros(numel, dtype=torch.bool, device="cpu")
    bound = torch.tensor(1.0 - p, dtype=torch.float64 if dtype == torch.float64 else torch.float32, device="cpu")

    def convert(words: Any) -> Any:
        return unit(torch, words) < bound

    vector = LOAD_BYTES // dtype.itemsize if dense else 1
    while vector > 1 and (address % (vector * dtype.itemsize) or numel % vector):
        vector //= 2
    if vector == 1:
        return source.sweeps(numel, torch.bool, convert)
    return source.neighbours(numel, torch.bool, convert, vector=vector, threads=source.threads(numel))


def permutation(source: Source, n: int, dtype: Any) -> Any:
    """Numbers sorted by random keys with just enough bits; ATen/native/cuda/Randperm.cu."""
    torch = source.torch
    bits = math.ceil(math.log2(n - (6 * n * n + 1) / (12 * math.log(EQUAL_KEYS))))
    if bits > 64:
        return None
    key_bits = 32 if bits <= 32 else 64
    low, high = -(1 << key_bits - 1), (1 << key_bits - 1) - 1
    keys = random_between(source, n, torch.int32 if key_bits == 32 else torch.int64, low, high)
    assert keys is not None
    if bits < key_bits:  # with all its bits in use, a key has a sign
        keys = keys & ((1 << bits) - 1)
    ordered, order = torch.sort(keys, stable=True)
    _shuffle_equal(source.after_sweeps(n, 2), ordered, order)
    return order.to(dtype)


def _shuffle_equal(source: Source, keys: Any, order: Any) -> None:
    """Numbers with equal keys are shuffled (Fisher-Yates) by the thread of the first of them."""
    equal = (keys[1:] == keys[:-1]).nonzero().flatten().tolist()
    first = 0
    while first < len(equal):
        last = first
        while last + 1 < len(equal) and equal[last + 1] == equal[last] + 1:
            last += 1
        _shuffle(source, order, equal[first], last - first + 2)
        first = last + 1


def _shuffle(source: Source, order: Any, leader: int, size: int) -> None:
    island = order[leader : leader + size].tolist()
    for drawn, i in enumerate(range(size - 1, 0, -1)):
        word = source.block(drawn // WORDS, 1, first=leader)[drawn % WORDS].item()
        j = word % (i + 1)
        island[i], island[j] = island[j], island[i]
    order[leader : leader + size] = source.torch.tensor(island, dtype=order.dtype, device="cpu")


def choose(source: Source, weights: Any, num_samples: int, replacement: bool) -> Any | None:
    """`multinomial`. Without replacement: the largest ratios of weight to exponential number (the Gumbel trick)."""
    torch = source.torch
    if not replacement or num_samples == 1:
        ratios = weights / exponential(source, weights.numel(), weights.dtype, 1.0).view(weights.shape)
        if num_samples == 1:
            return ratios.argmax(dim=-1, keepdim=True)
        return ratios.topk(num_samples, dim=-1).indices
    rows = weights.reshape(-1, weights.shape[-1])
    if len(rows) > MAX_ROWS:
        return None
    shares = rows / rows.sum(dim=1, keepdim=True)
    width = CHOICE_BLOCK * -(-num_samples // CHOICE_BLOCK)
    drawn = unit(torch, source.block(0, width * len(rows), 1)).view(len(rows), width)[:, :num_samples]
    found = torch.searchsorted(shares.cumsum(dim=1), drawn.to(weights.dtype).contiguous())
    found.clamp_(max=rows.shape[1] - 1)
    return _back_to_possible(torch, shares, found).view(*weights.shape[:-1], num_samples)


def _back_to_possible(torch: Any, shares: Any, found: Any) -> Any:
    """An element without weight is never chosen; the nearest one before it that has some is."""
    places = torch.arange(shares.shape[1], dtype=torch.int64, device="cpu")
    possible = torch.where(shares > 0, places, 0).cummax(dim=1).values
    return possible.gather(1, found)
