"""What an operator that only CUDA can run means on the CPU.

`TRANSLATIONS` maps an operator's name, with its overload ("aten::cudnn_convolution", "aten::mm.dtype_out"), to a
function that takes the operator's own arguments as CPU tensors and returns the operator's own results, in its order:
same shape, same dtype, and the meaning that its backward operator expects. None stands for a result whose values are
never read. A function writes only to the arguments that its operator's schema marks as written.

Three kinds of operators are in it:
- those without a CPU kernel (cuDNN, fused attention, fused cells);
- those whose CPU kernel refuses arguments that CUDA accepts, or saves other dtypes for its backward (half precision);
- those that draw random numbers, which must not come from the user's CPU generator (see `rng.generator`).

Known limitations: attention with ALiBi slopes, per-sequence key lengths (`seqused_k`, `seqlen_k`) or nested tensors
raises NotImplementedError, and so does scaled matrix multiplication in block-wise recipes.
"""

from collections.abc import Callable
from typing import Any

from veritasest.engines.emulated.steering.translations import (
    attention,
    attention_packed,
    convolution,
    ctc,
    dtype_rules,
    matmul,
    norms,
    recurrent,
    recurrent_cells,
    rng,
    spatial,
    sync_norm,
)
from veritasest.engines.emulated.steering.translations.helpers import widened, with_out_overloads
from veritasest.engines.emulated.steering.translations.rng import generator

__all__ = ["TRANSLATIONS", "generator", "widened"]

_MODULES = (
    attention,
    attention_packed,
    convolution,
    ctc,
    dtype_rules,
    matmul,
    norms,
    recurrent,
    recurrent_cells,
    rng,
    spatial,
    sync_norm,
)

TRANSLATIONS: dict[str, Callable[..., Any]] = with_out_overloads(
    {name: function for module in _MODULES for name, function in module.TABLE.items()}
)
