"""Matrix products with a wider result than their factors, and with float8 factors."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

# Upstream: at::blas::ScalingType, the two recipes whose scales are one number or one number per row.
TENSOR_WISE, ROW_WISE = 0, 1


def _product(a: Tensor, b: Tensor, out_dtype: torch.dtype) -> Tensor:
    return (a.float() @ b.float()).to(out_dtype)


def _added_product(
    self: Tensor, a: Tensor, b: Tensor, out_dtype: torch.dtype, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    product = alpha * (a.float() @ b.float())
    # As in BLAS, beta = 0 ignores the summand, NaN or not.
    return (product if beta == 0 else beta * self.float() + product).to(out_dtype)


def scaled_mm(
    self: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,  # noqa: ARG001 (changes how, not what)
) -> Tensor:
    result = (self.float() * _broadcast(scale_a, self, 0)) @ (mat2.float() * _broadcast(scale_b, mat2, 1))
    if bias is not None:
        result = result + bias.float()
    if scale_result is not None:
        result = result * scale_result
    return result.to(self.dtype if out_dtype is None else out_dtype)


def _broadcast(scale: Tensor, factor: Tensor, dim: int) -> Tensor:
    """One number, or one per row of the left factor (`dim` 0) or column of the right one (`dim` 1)."""
    if scale.dtype != torch.float32 or scale.numel() not in (1, factor.shape[dim]):
        raise NotImplementedError(
            f"scaled matrix product with {scale.dtype} scales of shape {tuple(scale.shape)} has no CPU translation"
        )
    return scale.reshape(()) if scale.numel() == 1 else scale.reshape((-1, 1) if dim == 0 else (1, -1))


def scaled_mm_v2(
    self: Tensor,
    mat2: Tensor,
    scale_a: Sequence[Tensor],
    recipe_a: Sequence[int],
    swizzle_a: Sequence[int],  # noqa: ARG001 (block-wise recipes only)
    scale_b: Sequence[Tensor],
    recipe_b: Sequence[int],
    swizzle_b: Sequence[int],  # noqa: ARG001
    bias: Tensor | None,
    out_dtype: torch.dtype | None,
    contraction_dim: Sequence[int] = (),  # noqa: ARG001
    use_fast_accum: bool = False,
) -> Tensor:
    if any(recipe not in (TENSOR_WISE, ROW_WISE) for recipe in (*recipe_a, *recipe_b)):
        raise NotImplementedError(f"scaled matrix product with recipes {recipe_a}, {recipe_b} has no CPU translation")
    return scaled_mm(self, mat2, scale_a[0], scale_b[0], bias, None, out_dtype, use_fast_accum)


TABLE: dict[str, Callable[..., Any]] = {
    "aten::mm.dtype": _product,
    "aten::bmm.dtype": _product,
    "aten::addmm.dtype": _added_product,
    "aten::baddbmm.dtype": _added_product,
    "aten::_scaled_mm": scaled_mm,
    "aten::_scaled_mm_v2": scaled_mm_v2,
}
