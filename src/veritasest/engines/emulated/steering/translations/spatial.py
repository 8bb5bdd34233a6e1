"""cuDNN's spatial transformer: always bilinear, zero padding, corners aligned."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from veritasest.engines.emulated.steering.translations.helpers import operator, wide

_BILINEAR, _ZEROS, _ALIGN_CORNERS = 0, 0, True


def cudnn_grid_sampler(self: Tensor, grid: Tensor) -> Tensor:
    return torch.grid_sampler(wide(self), wide(grid), _BILINEAR, _ZEROS, _ALIGN_CORNERS).to(self.dtype)


def cudnn_grid_sampler_backward(self: Tensor, grid: Tensor, grad_output: Tensor) -> tuple[Tensor, Tensor]:
    backward = operator("aten::grid_sampler_2d_backward")
    options = (_BILINEAR, _ZEROS, _ALIGN_CORNERS, [True, True])
    grad_self, grad_grid = backward(wide(grad_output), wide(self), wide(grid), *options)
    return grad_self.to(self.dtype), grad_grid.to(grid.dtype)


def cudnn_affine_grid_generator(theta: Tensor, *size: int) -> Tensor:
    return torch.affine_grid_generator(wide(theta), size, _ALIGN_CORNERS).to(theta.dtype)


def cudnn_affine_grid_generator_backward(grad: Tensor, *size: int) -> Tensor:
    backward = operator("aten::affine_grid_generator_backward")
    return backward(wide(grad), size, _ALIGN_CORNERS).to(grad.dtype)


TABLE: dict[str, Callable[..., Any]] = {
    "aten::cudnn_grid_sampler": cudnn_grid_sampler,
    "aten::cudnn_grid_sampler_backward": cudnn_grid_sampler_backward,
    "aten::cudnn_affine_grid_generator": cudnn_affine_grid_generator,
    "aten::cudnn_affine_grid_generator_backward": cudnn_affine_grid_generator_backward,
}
