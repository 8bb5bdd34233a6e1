"""Which thread of a CUDA kernel draws the number for which element.

Every thread has its own subsequence, so this decides which number each element gets. The rules are PyTorch's launch
settings: ATen/native/cuda/DistributionTemplates.h (`calc_execution_policy`), CUDAApplyUtils.cuh and Dropout.cu.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from veritasest.engines.emulated.steering.random.philox import words

BLOCK = 256  # threads; upstream: block_size_bound
WORDS = 4  # that one call of the generator gives; upstream: max_generator_offsets_per_curand_call

Convert = Callable[[Any], Any]  # (words, threads) -> (values, threads)


@dataclass(frozen=True, kw_only=True)
class Source:
    """The state of the GPU's generator, and the number of threads that the GPU runs at a time."""

    torch: Any
    seed: int
    offset: int
    sms: int
    threads_per_sm: int

    def threads(self, numel: int) -> int:
        """As many blocks as the GPU holds at a time, or as the elements need."""
        return BLOCK * min(self.sms * (self.threads_per_sm // BLOCK), -(-numel // BLOCK))

    def block(self, index: int, count: int, wanted: int = WORDS, *, first: int = 0) -> Any:
        """Words of block number `index` of `count` threads, counted from the generator's offset."""
        return words(self.torch, self.seed, self.offset // WORDS + index, first, count, wanted)

    def after_sweeps(self, numel: int, unroll: int) -> Source:
        """The state of the generator after the launch of a kernel of `sweeps`."""
        sweeps = (numel - 1) // (self.threads(numel) * unroll) + 1
        return replace(self, offset=self.offset + WORDS * sweeps)

    def sweeps(self, numel: int, dtype: Any, convert: Convert, *, unroll: int = 4, together: int = 1) -> Any:
        """The grid passes over the tensor; in each pass a thread fills `unroll` elements, a grid's width apart.
        `together`: how many words `convert` needs at least."""
        out = self.torch.empty(numel, dtype=dtype, device="cpu")
        threads = self.threads(numel)
        for sweep, start in enumerate(range(0, numel, threads * unroll)):
            left = min(numel - start, threads * unroll)
            rows = -(-left // threads)
            wanted = -(-rows * (WORDS // unroll) // together) * together
            values = convert(self.block(sweep, min(left, threads), wanted))
            out[start : start + left] = values[:rows].reshape(-1)[:left]
        return out

    def neighbours(self, numel: int, dtype: Any, convert: Convert, *, vector: int, threads: int) -> Any:
        """The grid passes over the tensor; in each pass a thread fills `vector` adjacent elements. Where it fills only
        two, two of a block's words are unused."""
        torch = self.torch
        blocks, wanted = max(1, vector // WORDS), min(vector, WORDS)
        out = torch.empty(numel, dtype=dtype, device="cpu")
        for sweep, start in enumerate(range(0, numel, threads * vector)):
            left = min(numel - start, threads * vector)
            count = -(-left // vector)
            drawn = [self.block(sweep * blocks + i, count, wanted) for i in range(blocks)]
            out[start : start + left] = convert(torch.cat(drawn)).t().reshape(-1)[:left]
        return out
