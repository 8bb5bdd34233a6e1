"""cuDNN's convolutions, and CUDA's own depthwise ones, as the CPU's convolution in float32."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from veritasest.engines.emulated.steering.translations.helpers import is_half, operator, wide

Sizes = Sequence[int]


class Window(NamedTuple):
    """`output_padding`: None unless the convolution is transposed."""

    stride: Sizes
    padding: Sizes
    dilation: Sizes
    groups: int
    output_padding: Sizes | None = None


def _convolve(self: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, window: Window) -> torch.Tensor:
    stride, padding, dilation, groups, output_padding = window
    transposed = output_padding is not None
    extra = output_padding if output_padding is not None else [0] * len(padding)
    result = torch.convolution(
        wide(self), wide(weight), wide(bias), stride, padding, dilation, transposed, extra, groups
    )
    return result.to(self.dtype)


def cudnn_convolution(
    self: torch.Tensor,
    weight: torch.Tensor,
    padding: Sizes,
    stride: Sizes,
    dilation: Sizes,
    groups: int,
    *_flags: bool,
) -> torch.Tensor:
    return _convolve(self, weight, None, Window(stride, padding, dilation, groups))


def cudnn_convolution_transpose(
    self: torch.Tensor,
    weight: torch.Tensor,
    padding: Sizes,
    output_padding: Sizes,
    stride: Sizes,
    dilation: Sizes,
    groups: int,
    *_flags: bool,
) -> torch.Tensor:
    return _convolve(self, weight, None, Window(stride, padding, dilation, groups, output_padding))


def cudnn_convolution_relu(
    self: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> torch.Tensor:
    return _convolve(self, weight, bias, Window(stride, padding, dilation, groups)).relu_()


def cudnn_convolution_add_relu(
    self: torch.Tensor,
    weight: torch.Tensor,
    z: torch.Tensor,
    alpha: float | None,
    bias: torch.Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> torch.Tensor:
    result = _convolve(self, weight, bias, Window(stride, padding, dilation, groups))
    return result.add_(z, alpha=1 if alpha is None else alpha).relu_()


def depthwise(
    self: torch.Tensor,
    weight: torch.Tensor,
    kernel_size: Sizes,  # noqa: ARG001 (the weight has it)
    bias: torch.Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
) -> torch.Tensor:
    """One group per input channel, whatever the number of output channels."""
    return _convolve(self, weight, bias, Window(stride, padding, dilation, groups=self.shape[-len(padding) - 1]))


def convolution_backward(
    grad_output: torch.Tensor,
    input: torch.Tensor,  # noqa: A002 (the schema's name)
    weight: torch.Tensor,
    *rest: Any,
) -> Sequence[torch.Tensor | None]:
    run = operator("aten::convolution_backward")
    if not is_half(grad_output, input, weight):
        return run(grad_output, input, weight, *rest)  # type: ignore[no-any-return]
    grads = run(wide(grad_output), wide(input), wide(weight), *rest)
    return [None if grad is None else grad.to(input.dtype) for grad in grads]


TABLE: dict[str, Callable[..., Any]] = {
    "aten::cudnn_convolution": cudnn_convolution,
    "aten::cudnn_convolution_transpose": cudnn_convolution_transpose,
    "aten::cudnn_convolution_relu": cudnn_convolution_relu,
    "aten::cudnn_convolution_add_relu": cudnn_convolution_add_relu,
    "aten::_conv_depthwise2d": depthwise,
    "aten::conv_depthwise3d": depthwise,
    "aten::convolution_backward": convolution_backward,
}
