"""How much is computed: limits on the elements of all of an operator's tensors together.

A CPU core handles some hundred million elements per second, so an operator at its limit costs some milliseconds.
The limits in bytes are the device's own (native/core/content.c); README.md lists both.
"""

from __future__ import annotations

from typing import Any

FLOAT_LIMIT = 8 << 20
INTEGER_LIMIT = 16 << 20
UPLOAD_LIMIT = 1 << 20  # floats from the host: boxes, points and lengths, but not images and weights
RANDOM_LIMIT = 1 << 20  # floats from nothing, random or all the same: weights are initialised with them

PRODUCT_LIMIT = 1 << 27  # multiplications of a matrix product, or of distances


def limit(tensor: Any) -> int:
    return FLOAT_LIMIT if tensor.dtype.is_floating_point or tensor.dtype.is_complex else INTEGER_LIMIT


def upload_limit(tensor: Any) -> int:
    return UPLOAD_LIMIT if tensor.dtype.is_floating_point or tensor.dtype.is_complex else INTEGER_LIMIT


def is_small_product(torch: Any, args: tuple[Any, ...]) -> bool:
    """Whether no input is trainable, and the product of the last two matrices among them is within the limit."""
    inputs = [value for value in args if torch.is_tensor(value)]
    if any(value.requires_grad for value in inputs):
        return False
    matrices = [value for value in inputs if value.dim() >= 2][-2:]
    return len(matrices) < 2 or matrices[0].numel() * max(matrices[1].shape[-2:]) <= PRODUCT_LIMIT
