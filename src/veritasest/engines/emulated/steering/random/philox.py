"""Philox4x32-10, the counter-based generator behind `torch.cuda`'s random numbers.

Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. cuRAND's documentation says how the 128-bit
counter is used: its low half counts blocks of four words (the offset, divided by four), its high half is the
subsequence, one for each thread. The key is the seed.

Words are unsigned 32-bit numbers, stored in int64 tensors. Products of two of them fill all 64 bits: only the sign is
wrong, and a mask after the shift corrects it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)  # added to the key in each round
ROUNDS = 10
MASK = 0xFFFFFFFF
CHUNK = 1 << 15  # subsequences at a time, so that the six tensors in use stay in a core's cache
FEW = 20  # subsequences: up to here plain numbers are faster than calls into torch


def words(torch: Any, seed: int, counter: int, first: int, count: int, wanted: int = 4) -> Any:
    """The first `wanted` words of block `counter` of the subsequences from `first` on, as (wanted, count). No GPU has
    2**32 threads: the counter's last word is zero."""
    low, high = counter & MASK, counter >> 32 & MASK
    if count <= FEW:
        keys = _keys(seed)
        blocks = [_rounds((low, high, lane, 0), keys)[:wanted] for lane in range(first, first + count)]
        return torch.tensor(blocks, dtype=torch.int64, device="cpu").t()
    out = torch.empty((wanted, count), dtype=torch.int64, device="cpu")
    mask = _constants(torch)[0]
    for start in range(0, count, CHUNK):
        stop = min(start + CHUNK, count)
        lanes = torch.arange(first + start, first + stop, dtype=torch.int64, device="cpu")
        block = _fast_rounds(torch, _rounds((low, high, lanes, 0), _keys(seed)[:3]), seed)
        for word in range(wanted):
            torch.bitwise_and(block[word], mask, out=out[word, start:stop])
    return out


def _rounds(block: tuple[Any, ...], keys: list[tuple[int, int]]) -> tuple[Any, ...]:
    """For numbers, and for the first three rounds of tensors, in which some words are equal in all subsequences. In
    tensors, odd words may have garbage above their 32 bits; even ones enter products and have none."""
    c0, c1, c2, c3 = block
    for k0, k1 in keys:
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c2 = (p1 >> 32 ^ (c1 ^ k0)) & MASK, (p0 >> 32 ^ (c3 ^ k1)) & MASK
        c1, c3 = _low(p1), _low(p0)
    return c0, c1, c2, c3


def _fast_rounds(torch: Any, block: tuple[Any, ...], seed: int) -> tuple[Any, ...]:
    """The fourth round to the last, in place."""
    c0, c1, c2, c3 = block
    mask, shift, m0, m1 = _constants(torch)
    p0, p1 = torch.empty_like(c0), torch.empty_like(c0)
    for k0, k1 in _key_tensors(torch, seed)[3:]:
        torch.mul(c0, m0, out=p0)
        torch.mul(c2, m1, out=p1)
        torch.bitwise_right_shift(p1, shift, out=c0).bitwise_xor_(c1).bitwise_xor_(k0).bitwise_and_(mask)
        torch.bitwise_right_shift(p0, shift, out=c2).bitwise_xor_(c3).bitwise_xor_(k1).bitwise_and_(mask)
        c1, c3, p0, p1 = p1, p0, c1, c3
    return c0, c1, c2, c3


def _low(product: Any) -> Any:
    return product & MASK if isinstance(product, int) else product


def _keys(seed: int) -> list[tuple[int, int]]:
    return [((seed + i * WEYL[0]) & MASK, ((seed >> 32) + i * WEYL[1]) & MASK) for i in range(ROUNDS)]


# As tensors without dimensions: torch would make one of every plain number, which takes as long as a short operator.


@lru_cache(maxsize=1)
def _constants(torch: Any) -> tuple[Any, ...]:
    return tuple(torch.tensor([MASK, 32, *MULTIPLIERS], dtype=torch.int64, device="cpu"))


@lru_cache(maxsize=8)
def _key_tensors(torch: Any, seed: int) -> list[tuple[Any, ...]]:
    return [tuple(pair) for pair in torch.tensor(_keys(seed), dtype=torch.int64, device="cpu")]
