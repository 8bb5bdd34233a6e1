"""cuDNN's spatial transformer (always bilinear, zero padding, corners aligned) and its CTC loss."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from veritasest.engines.emulated.steering.translations.kernels import operator, wide

_BILINEAR, _ZEROS, _ALIGN_CORNERS = 0, 0, True


def cudnn_grid_sampler(self: Tensor, grid: Tensor) -> Tensor:
    return torch.grid_sampler(wide(self), wide(grid), _BILINEAR, _ZEROS, _ALIGN_CORNERS).to(self.dtype)


def cudnn_grid_sampler_backward(self: Tensor, grid: Tensor, grad_output: Tensor) -> tuple[Tensor, Tensor]:
    backward = operator("aten::grid_sampler_2d_backward")
    how = (_BILINEAR, _ZEROS, _ALIGN_CORNERS, [True, True])
    grad_self, grad_grid = backward(wide(grad_output), wide(self), wide(grid), *how)
    return grad_self.to(self.dtype), grad_grid.to(grid.dtype)


def cudnn_affine_grid_generator(theta: Tensor, *size: int) -> Tensor:
    return torch.affine_grid_generator(wide(theta), size, _ALIGN_CORNERS).to(theta.dtype)


def cudnn_affine_grid_generator_backward(grad: Tensor, *size: int) -> Tensor:
    backward = operator("aten::affine_grid_generator_backward")
    return backward(wide(grad), size, _ALIGN_CORNERS).to(grad.dtype)


def cudnn_ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int] | Tensor,
    target_lengths: Sequence[int] | Tensor,
    blank: int,
    deterministic: bool,  # noqa: ARG001 (how, not what)
    zero_infinity: bool,
) -> tuple[Tensor, Tensor]:
    """The losses, and their gradients in the same call, as cuDNN gives them."""
    lengths = [list(map(int, each)) for each in (input_lengths, target_lengths)]
    loss, log_alpha = torch._ctc_loss(log_probs, targets.long(), *lengths, blank, zero_infinity)
    grad = operator("aten::_ctc_loss_backward")(
        torch.ones_like(loss), log_probs, targets.long(), *lengths, loss, log_alpha, blank, zero_infinity
    )
    return loss, grad


TABLE: dict[str, Callable[..., Any]] = {
    "aten::cudnn_grid_sampler": cudnn_grid_sampler,
    "aten::cudnn_grid_sampler_backward": cudnn_grid_sampler_backward,
    "aten::cudnn_affine_grid_generator": cudnn_affine_grid_generator,
    "aten::cudnn_affine_grid_generator_backward": cudnn_affine_grid_generator_backward,
    "aten::_cudnn_ctc_loss": cudnn_ctc_loss,
    "aten::_cudnn_ctc_loss.Tensor": cudnn_ctc_loss,
}
