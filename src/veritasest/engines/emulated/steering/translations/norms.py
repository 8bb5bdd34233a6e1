"""Batch, layer, group and RMS norm: computed in float32, with the statistics saved as CUDA saves them.

cuDNN and CUDA's own kernels save the mean and the inverse standard deviation, in float32 for half inputs except in
group norm. The CPU kernels save them in the input's dtype and check that dtype in the backward.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from veritasest.engines.emulated.steering.translations.helpers import cast_like, is_half, operator, wide


def _batch_norm(
    input: Tensor,  # noqa: A002 (the schema's name)
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    running: list[Any] = [None if stat is None else stat.float() for stat in (running_mean, running_var)]
    out, mean, invstd = torch.native_batch_norm(
        wide(input), wide(weight), wide(bias), *running, training, momentum, eps
    )
    if training:
        # float() copies half statistics only: these are the ones the kernel has not updated in place.
        for stat, updated in zip((running_mean, running_var), running, strict=True):
            if stat is not None and updated is not stat:
                stat.copy_(updated)
    else:
        mean, invstd = running[0], (running[1] + eps).rsqrt()
    return out.to(input.dtype), mean, invstd


def _batch_norm_without_running(input: Tensor, weight: Any, bias: Any, *rest: Any) -> Any:  # noqa: A002
    return _batch_norm(input, weight, bias, None, None, *rest)


def _batch_norm_with_update(input: Tensor, weight: Any, bias: Any, mean: Any, var: Any, *rest: Any) -> Any:  # noqa: A002
    return *_batch_norm(input, weight, bias, mean, var, True, *rest), None


def cudnn_batch_norm(*args: Any) -> tuple[Any, ...]:
    """As `_batch_norm`, and a reserve space that only cuDNN's backward reads. Outside training nothing is saved."""
    out, mean, invstd = _batch_norm(*args)
    return (out, mean, invstd, None) if args[5] else (out, None, None, None)


def cudnn_batch_norm_out(*args: Any, out0: Tensor, out1: Tensor, out2: Tensor, out3: Tensor) -> tuple[Any, ...]:
    for target, result in zip((out0, out1, out2), cudnn_batch_norm(*args)[:3], strict=True):
        if result is not None:
            target.resize_(result.shape).copy_(result)
    return out0, out1, out2, out3


def _batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,  # noqa: A002
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_invstd: Tensor | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Any, ...]:
    tensors = (grad_out, input, weight, running_mean, running_var, save_mean, save_invstd)
    grads = operator("aten::native_batch_norm_backward")(*map(wide, tensors), train, eps, output_mask)
    return tuple(cast_like(grad, model) for grad, model in zip(grads, (input, weight, weight), strict=True))


def _batch_norm_backward_with_reserve(*args: Any) -> tuple[Any, ...]:
    return _batch_norm_backward(*args[:10])


def cudnn_batch_norm_backward(
    input: Tensor,  # noqa: A002
    grad_output: Tensor,
    weight: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_var: Tensor | None,
    epsilon: float,
    reserve: Tensor,  # noqa: ARG001 (nothing is kept in it)
) -> tuple[Any, ...]:
    mask = [True, True, True]
    return _batch_norm_backward(
        grad_output, input, weight, running_mean, running_var, save_mean, save_var, True, epsilon, mask
    )


def _wide_norm(name: str, *, wide_statistics: bool) -> Callable[..., Any]:
    """A norm that gives (output, mean, inverse deviation); layer norm saves the last two wide, group norm does not."""
    run = operator(name)

    def norm(input: Tensor, *args: Any) -> Any:  # noqa: A002
        if not is_half(input, *args):
            return run(input, *args)
        out, mean, rstd = run(wide(input), *map(wide, args))
        return out.to(input.dtype), *(stat if wide_statistics else stat.to(input.dtype) for stat in (mean, rstd))

    return norm


def _wide_norm_backward(name: str, models: tuple[int, int, int]) -> Callable[..., Any]:
    """Its backward: each gradient takes the dtype of the argument at its place in `models`, or the input's."""
    run = operator(name)

    def backward(*args: Any) -> Any:
        if not is_half(*args):
            return run(*args)
        grads = run(*map(wide, args))
        likes = (args[1] if args[i] is None else args[i] for i in models)
        return tuple(cast_like(grad, like) for grad, like in zip(grads, likes, strict=True))

    return backward


def _fused_rms_norm(
    input: Tensor,  # noqa: A002
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    eps: float | None,
) -> tuple[Tensor, Tensor]:
    x = wide(input)
    dims = tuple(range(-len(normalized_shape), 0))
    epsilon = torch.finfo(x.dtype).eps if eps is None else eps
    rstd = (x.square().mean(dims, keepdim=True) + epsilon).rsqrt()
    out = x * rstd
    return (out if weight is None else out * wide(weight)).to(input.dtype), rstd


def _fused_rms_norm_backward(
    grad_out: Tensor,
    input: Tensor,  # noqa: A002
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    dims = tuple(range(-len(normalized_shape), 0))
    normal, grad = wide(input) * rstd, wide(grad_out)
    grad_normal = grad if weight is None else grad * wide(weight)
    grad_input = rstd * (grad_normal - normal * (grad_normal * normal).mean(dims, keepdim=True))
    if weight is None or not output_mask[1]:
        return grad_input.to(input.dtype), None
    return grad_input.to(input.dtype), (grad * normal).sum_to_size(weight.shape).to(weight.dtype)


TABLE: dict[str, Callable[..., Any]] = {
    "aten::cudnn_batch_norm": cudnn_batch_norm,
    "aten::cudnn_batch_norm.out": cudnn_batch_norm_out,
    "aten::cudnn_batch_norm_backward": cudnn_batch_norm_backward,
    "aten::native_batch_norm": _batch_norm,
    "aten::_native_batch_norm_legit": _batch_norm,
    "aten::_native_batch_norm_legit.no_stats": _batch_norm_without_running,
    "aten::native_batch_norm_backward": _batch_norm_backward,
    "aten::_batch_norm_with_update": _batch_norm_with_update,
    "aten::batch_norm_backward": _batch_norm_backward_with_reserve,
    "aten::native_layer_norm": _wide_norm("aten::native_layer_norm", wide_statistics=True),
    "aten::native_layer_norm_backward": _wide_norm_backward("aten::native_layer_norm_backward", models=(1, 5, 6)),
    "aten::native_group_norm": _wide_norm("aten::native_group_norm", wide_statistics=False),
    "aten::native_group_norm_backward": _wide_norm_backward("aten::native_group_norm_backward", models=(1, 4, 4)),
    "aten::_fused_rms_norm": _fused_rms_norm,
    "aten::_fused_rms_norm_backward": _fused_rms_norm_backward,
}
