"""The pieces of synchronised batch norm: local statistics, their union over ranks, and the two halves of the backward.

All statistics are per channel, dimension 1, and float32 for half inputs.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from veritasest.engines.emulated.steering.translations.helpers import wide


def _per_channel(stat: Tensor, input: Tensor) -> Tensor:  # noqa: A002
    return wide(stat).view(1, -1, *[1] * (input.dim() - 2))


def _all_but_channels(input: Tensor) -> list[int]:  # noqa: A002
    return [dim for dim in range(input.dim()) if dim != 1]


def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:  # noqa: A002
    variance, mean = torch.var_mean(wide(input), _all_but_channels(input), correction=0)
    return mean, (variance + eps).rsqrt()


def batch_norm_elemt(
    input: Tensor,  # noqa: A002
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    invstd: Tensor,
    eps: float,  # noqa: ARG001 (already in invstd)
) -> Tensor:
    out = (wide(input) - _per_channel(mean, input)) * _per_channel(invstd, input)
    if weight is not None:
        out = out * _per_channel(weight, input)
    if bias is not None:
        out = out + _per_channel(bias, input)
    return out.to(input.dtype)


def batch_norm_gather_stats_with_counts(
    input: Tensor,  # noqa: A002, ARG001 (its dtype and device only)
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """The mean and inverse deviation over all ranks from those of each, one row per rank."""
    shares = counts.to(mean.dtype)[:, None]
    total = shares.sum()
    union_mean = (shares * mean).sum(0) / total
    variances = invstd.square().reciprocal() - eps
    variance = (shares * (variances + (mean - union_mean).square())).sum(0) / total
    if running_mean is not None:
        running_mean.copy_((1 - momentum) * running_mean + momentum * union_mean)
    if running_var is not None:
        unbiased = variance * total / (total - 1)
        running_var.copy_((1 - momentum) * running_var + momentum * unbiased)
    return union_mean, (variance + eps).rsqrt()


def batch_norm_gather_stats(
    input: Tensor,  # noqa: A002
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    count: int,
) -> tuple[Tensor, Tensor]:
    counts = torch.full((mean.shape[0],), count)
    return batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps, counts)


def batch_norm_backward_reduce(
    grad_out: Tensor,
    input: Tensor,  # noqa: A002
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,  # noqa: ARG001 (the sums are needed for every other gradient)
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    grad, dims = wide(grad_out), _all_but_channels(input)
    sum_dy = grad.sum(dims)
    sum_dy_xmu = (grad * (wide(input) - _per_channel(mean, input))).sum(dims)
    dtype = sum_dy.dtype if weight is None else weight.dtype
    grad_weight = (sum_dy_xmu * invstd).to(dtype) if weight_g else None
    return sum_dy, sum_dy_xmu, grad_weight, sum_dy.to(dtype) if bias_g else None


def batch_norm_backward_elemt(
    grad_out: Tensor,
    input: Tensor,  # noqa: A002
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    total = count.sum()
    centred = wide(input) - _per_channel(mean, input)
    slope = _per_channel(invstd.square() * sum_dy_xmu / total, input)
    grad = (wide(grad_out) - _per_channel(sum_dy / total, input) - centred * slope) * _per_channel(invstd, input)
    return (grad if weight is None else grad * _per_channel(weight, input)).to(input.dtype)


TABLE: dict[str, Callable[..., Any]] = {
    "aten::batch_norm_stats": batch_norm_stats,
    "aten::batch_norm_elemt": batch_norm_elemt,
    "aten::batch_norm_gather_stats": batch_norm_gather_stats,
    "aten::batch_norm_gather_stats_with_counts": batch_norm_gather_stats_with_counts,
    "aten::batch_norm_backward_reduce": batch_norm_backward_reduce,
    "aten::batch_norm_backward_elemt": batch_norm_backward_elemt,
}
