"""How much is computed for the sake of steering: elements of an operator's tensors together.

A CPU core handles some hundred million elements a second, so an operator at its limit costs some milliseconds.
"""

from __future__ import annotations

from typing import Any

FLOAT_LIMIT = 8 << 20
INTEGER_LIMIT = 16 << 20
RANDOM_LIMIT = 1 << 20  # random floats: drawing them costs more, and weights are initialised with them


def limit(tensor: Any) -> int:
    return FLOAT_LIMIT if tensor.dtype.is_floating_point or tensor.dtype.is_complex else INTEGER_LIMIT
