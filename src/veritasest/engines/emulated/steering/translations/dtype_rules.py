"""Operators that CPU and CUDA both have, but with different dtypes or different tensors saved for the backward."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from veritasest.engines.emulated.steering.translations.helpers import operator, widened

# CPU kernels that refuse half types, among the operators that PyTorch's own operator samples call on CUDA.
_REFUSE_HALF = (
    "aten::_upsample_bilinear2d_aa",
    "aten::_upsample_bilinear2d_aa_backward",
    "aten::avg_pool3d",
    "aten::avg_pool3d_backward",
    "aten::multi_margin_loss",
    "aten::multi_margin_loss_backward",
    "aten::multilabel_margin_loss_forward",
    "aten::multilabel_margin_loss_backward",
    "aten::trace",
)


def _softmax(name: str) -> Callable[..., Any]:
    run = operator(name)

    def softmax(self: Tensor, dim: int, half_to_float: bool) -> Any:
        return run(self.float() if half_to_float else self, dim, False)

    return softmax


def _softmax_backward(name: str) -> Callable[..., Any]:
    run = operator(name)

    def backward(grad_output: Tensor, output: Tensor, dim: int, input_dtype: torch.dtype) -> Any:
        return run(grad_output, output, dim, grad_output.dtype).to(input_dtype)

    return backward


def log_sigmoid_forward(self: Tensor) -> tuple[Tensor, None]:
    """CUDA saves nothing for the backward."""
    return torch.nn.functional.logsigmoid(self), None


def log_sigmoid_backward(grad_output: Tensor, self: Tensor, buffer: Tensor) -> Tensor:  # noqa: ARG001 (empty on CUDA)
    return grad_output * torch.sigmoid(-self)


def log_sigmoid_backward_into(grad_output: Tensor, self: Tensor, buffer: Tensor, *, grad_input: Tensor) -> Tensor:
    return grad_input.resize_(self.shape).copy_(log_sigmoid_backward(grad_output, self, buffer))


def _embedding_bag(name: str) -> Callable[..., Any]:
    """CUDA always saves the bag of every index, which the CPU does not, and an unused size for the last offset."""
    run = operator(name)

    def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, *rest: Any) -> tuple[Any, ...]:
        out, _, sizes, largest = run(weight, indices, offsets, *rest)
        starts = offsets[: out.shape[0]].contiguous()
        bags = torch.searchsorted(starts, torch.arange(indices.numel(), dtype=starts.dtype), right=True) - 1
        padded = torch.nn.functional.pad(sizes, (0, offsets.shape[0] - sizes.shape[0]))
        return out, bags.to(indices.dtype), padded, largest if largest.dim() == 2 else None

    return embedding_bag


def histc(self: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:  # noqa: A002 (the operator's names)
    """CUDA also counts integers, and gives the counts in their type."""
    counted = torch.histc(self.double(), bins, min, max)
    return counted.to(self.dtype)


TABLE: dict[str, Callable[..., Any]] = {
    **{name: widened(name) for name in _REFUSE_HALF},
    "aten::_softmax": _softmax("aten::_softmax"),
    "aten::_log_softmax": _softmax("aten::_log_softmax"),
    "aten::_softmax_backward_data": _softmax_backward("aten::_softmax_backward_data"),
    "aten::_log_softmax_backward_data": _softmax_backward("aten::_log_softmax_backward_data"),
    "aten::_embedding_bag": _embedding_bag("aten::_embedding_bag"),
    "aten::_embedding_bag_forward_only": _embedding_bag("aten::_embedding_bag_forward_only"),
    "aten::histc": histc,
    "aten::log_sigmoid_forward": log_sigmoid_forward,
    "aten::log_sigmoid_backward": log_sigmoid_backward,
    "aten::log_sigmoid_backward.grad_input": log_sigmoid_backward_into,
}
