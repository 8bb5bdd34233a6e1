"""The numbers that a CUDA operator would draw, from its generator's seed and offset.

| file | what it holds |
|---|---|
| `cuda_random` | from an operator's arguments to its numbers |
| `philox` | the generator |
| `layout` | which thread draws the number for which element |
| `integers`, `floats`, `choices` | from random words to the numbers of each operator |

Evidence: benchmarks/workspaces/truth/random.jsonl.gz, recorded on an H200; tests/steering/test_random.py repeats it.

Known limitations: the rules are those of torch 2.11. Before 2.7, `randint` over 2**28 numbers and more, and with it
`randperm`, drew differently. `poisson`, `binomial`, gamma numbers and the dropout inside fused attention are not known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from veritasest.engines.emulated.steering.random import choices, floats, integers
from veritasest.engines.emulated.steering.random.layout import Source

MAX_BYTES = 1 << 31  # PyTorch splits larger tensors among several launches

Arguments = dict[str, Any]
Fill = Callable[[Source, int, Any, Arguments], Any]
Read = Callable[[Source, Any, Any, Arguments], Any]

# Operators that fill a tensor in memory order: (source, number of elements, type, the operator's other arguments).
FILLS: dict[str, Fill] = {
    "aten::random_": lambda s, n, t, _: integers.random_any(s, n, t),
    "aten::random_.to": lambda s, n, t, a: integers.random_between(s, n, t, 0, a["to"]),
    "aten::random_.from": lambda s, n, t, a: integers.random_between(s, n, t, a["from"], a["to"]),
    "aten::uniform_": lambda s, n, t, a: floats.uniform(s, n, t, a.get("from", 0.0), a.get("to", 1.0)),
    "aten::normal_": lambda s, n, t, a: floats.normal(s, n, t, a.get("mean", 0.0), a.get("std", 1.0)),
    "aten::log_normal_": lambda s, n, t, a: floats.log_normal(s, n, t, a.get("mean", 1.0), a.get("std", 2.0)),
    "aten::exponential_": lambda s, n, t, a: floats.exponential(s, n, t, a.get("lambd", 1.0)),
    "aten::geometric_": lambda s, n, t, a: floats.geometric(s, n, t, a["p"]),
    "aten::cauchy_": lambda s, n, t, a: floats.cauchy(s, n, t, a.get("median", 0.0), a.get("sigma", 1.0)),
    "aten::bernoulli_.float": lambda s, n, t, a: floats.bernoulli(s, n, t, a.get("p", 0.5)),
}


def _bernoulli_each(source: Source, shape: Any, dtype: Any, given: Arguments) -> Any:
    return choices.bernoulli_each(source, given["probabilities"].expand(shape), dtype).view(shape)


def _permutation(source: Source, shape: Any, dtype: Any, _: Arguments) -> Any:
    return choices.permutation(source, shape.numel(), dtype)


def _choose(source: Source, _shape: Any, _dtype: Any, given: Arguments) -> Any:
    return choices.choose(source, given["probabilities"], given["num_samples"], given.get("replacement", False))


# Operators known for contiguous tensors: (source, shape, type, the operator's other arguments).
READS: dict[str, Read] = {
    **dict.fromkeys(("aten::bernoulli_.Tensor", "aten::bernoulli.out", "aten::bernoulli"), _bernoulli_each),
    **dict.fromkeys(("aten::randperm.generator_out", "aten::randperm.out", "aten::randperm"), _permutation),
    **dict.fromkeys(("aten::multinomial", "aten::multinomial.out"), _choose),
}


@dataclass(frozen=True, kw_only=True)
class Target:
    """The tensor that is filled; for `native_dropout`, whose mask is returned, and for `multinomial`, the input.
    `strides`: None if contiguous."""

    shape: Any
    dtype: Any
    strides: Any = None
    address: int = 0


def draw(name: str, source: Source, target: Target, parameters: Arguments) -> Any | None:
    """What the operator would leave in the target, as a CPU tensor; None: not known.

    `parameters` are the operator's other arguments by the names in its schema; and `probabilities`, a CPU tensor, for
    `bernoulli` and `multinomial`.
    """
    torch, dtype, strides = source.torch, target.dtype, target.strides
    shape = torch.Size(target.shape)
    numel = shape.numel()
    if not numel or numel * dtype.itemsize >= MAX_BYTES or source.offset % 4 or not _is_plain(torch, dtype):
        return None
    order = _memory_order(shape, strides)
    if name in FILLS:
        return _shaped(FILLS[name](source, numel, dtype, parameters), shape, order)
    in_order = order == list(range(len(shape)))
    if name == "aten::native_dropout":
        dense = _is_dense(shape, strides, order)
        if dense or in_order:
            mask = choices.dropout_mask(source, numel, dtype, parameters["p"], target.address, dense=dense)
            return _shaped(mask, shape, order)
    elif name in READS and in_order:
        return READS[name](source, shape, dtype, parameters)
    return None


def _is_plain(torch: Any, dtype: Any) -> bool:
    whole = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
    return dtype in whole or dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def _memory_order(shape: Any, strides: Any) -> list[int]:
    """The dimensions, widest stride first; the place of those with one element makes no difference."""
    everything = list(range(len(shape)))
    long = [d for d in everything if shape[d] > 1]
    by_stride = long if strides is None else sorted(long, key=lambda d: -strides[d])
    return everything if by_stride == long else [d for d in everything if shape[d] <= 1] + by_stride


def _is_dense(shape: Any, strides: Any, order: list[int]) -> bool:
    step = 1
    for dimension in reversed(order):
        if strides is not None and shape[dimension] > 1 and strides[dimension] != step:
            return False
        step *= shape[dimension]
    return True


def _shaped(flat: Any, shape: Any, order: list[int]) -> Any:
    if flat is None:
        return None
    back = sorted(range(len(order)), key=lambda place: order[place])
    return flat.view([shape[d] for d in order]).permute(back)
