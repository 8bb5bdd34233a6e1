"""Which operators are watched, and how: tables of names, with the reason of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

# Only make, describe or reinterpret memory: nothing to compute, nothing to forget.
_BARE = re.compile(
    r"empty|new_empty|as_strided|view|_view|_reshape_alias|unfold$|alias|set_|resize|record_stream|is_pinned"
    r"|_pin_memory|_efficientzerotensor|_cudnn_init_dropout_state|_fused_sdp_choice|_nested|_has_|is_set_to|cudnn_is_"
    r"|_use_cudnn|_values|_indices|_local_scalar_dense_|_dirichlet_grad|_sparse|sparse_|to_sparse|_to_sparse|lift"
)

# The job's mathematics. Left undone unless all values are asked for; what comes out of it is unknown.
_HEAVY = re.compile(
    r".*backward|.*conv|.*mm$|.*mm_|addmv|addbmm|baddbmm|addr|.*attention|.*lstm|.*gru|.*rnn|.*norm(?!al)|.*loss|binary_cross_entropy"
    r"|.*pool|.*upsample|_foreach|_fused|.*fft|_linalg|linalg|_cholesky|cholesky|triangular|lu_|ormqr|geqrf|.*dropout"
    r"|.*gelu|.*silu|mish|.*softplus|elu|celu|selu|.*hardswish|.*hardsigmoid|leaky_relu|rrelu|prelu|_softmax|_log_softmax"
    r"|_masked_softmax|.*cdist|_pdist|_embedding_bag|grid_sampler|im2col|col2im|_ctc|_thnn|_weight_|.*int8|.*int4"
    r"|_scaled|_grouped|dot$|vdot$|_dyn_quant|_make_|fake_quant|_fake_quant|quantize|roi_align|ps_roi|roi_pool|deform"
    r"|_transform_bias|pixel_|channel_shuffle|reflection_pad|replication_pad|_amp_foreach|glu|hardtanh|threshold"
)

# Mathematics that is also geometry: done where none of its inputs is learned and the work is bounded.
_LIGHT = re.compile(r"(mm|bmm|addmm|baddbmm|dot|_cdist_forward|linalg_vector_norm|norm|_softmax|_log_softmax)$")

# Also light: the step counters of an optimizer, which are on the GPU when its state was loaded there.
_COUNTING = {"aten::_foreach_add_.Scalar"}

# From data to decisions: where an unknown input becomes an index, a mask or a count, the policy supplies the input.
_CONTROL = re.compile(
    r"(eq|ne|lt|le|gt|ge|isnan|isneginf|isposinf|isin|logical_\w+|signbit|any|all|argmax|argmin|max|min|aminmax|topk|sort"
    r"|kthvalue|mode|median|nanmedian|searchsorted|bucketize|nonzero|masked_select|_unique2?|unique_\w+|bincount|histc"
    r"|multinomial|count_nonzero|equal|repeat_interleave|nms|poisson|bernoulli|isclose)_?$"
)

# The size of what they return is counted by a kernel and read back.
COUNTED = frozenset(
    {
        "aten::nonzero",
        "aten::_unique",
        "aten::_unique2",
        "aten::unique_dim",
        "aten::unique_consecutive",
        "aten::unique_dim_consecutive",
        "torchvision::nms",
    }
)

# A number in the place of the first tensor. Their own kernels put it on the GPU as a "wrapped number", which PyTorch
# cannot hand to Python.
NUMBER_FIRST = {
    "aten::pow.Scalar": "Tensor_Tensor",
    "aten::pow.Scalar_out": "Tensor_Tensor_out",
    "aten::isin.Scalar_Tensor": "Tensor_Tensor",
    "aten::isin.Scalar_Tensor_out": "Tensor_Tensor_out",
}

# Write their argument without reading it.
_OVERWRITES = re.compile(
    r"(fill|zero|copy|random|uniform|normal|bernoulli|exponential|geometric|cauchy|log_normal|eye|arange|randperm"
    r"|_cummax_helper|_cummin_helper)_?$"
)


# Element by element on masks: one that is all the same stays so.
UNIFORM = {"mul", "logical_and", "logical_or", "logical_not", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_not"}

# Write parts of their argument; integers that nobody wrote to before are memory the program fills this way.
_INSERTS = re.compile(r"(scatter|_index_put_impl|index_copy|index_fill|masked_fill|masked_scatter|put)_?$")


@dataclass(frozen=True, kw_only=True)
class Operator:
    """One overload.

    - `heavy`: the job's mathematics; `light`: the kind that is also done on data from the host.
    - `control`: makes decisions of data; `decides`: has an outcome that can be assumed even where its data is too much.
    - `foreign`: the CPU has no kernel for it, or one that gives something else: see `translations`.
    - `written`: positions and names of the arguments it changes; `outputs_only`: those of them that it never reads;
      `inserts`: it leaves the rest of its argument as it was.
    - `tensors`: positions that take a tensor, where PyTorch hands Python a plain number for a wrapped one.
    """

    name: str
    overload: Any
    base: str
    heavy: bool
    light: bool
    foreign: bool
    control: bool
    decides: bool
    random: bool
    inserts: bool
    written: tuple[int | str, ...]
    outputs_only: tuple[int | str, ...]
    tensors: tuple[int, ...]


def describe(torch: Any, name: str) -> Operator | None:
    """What there is to know about `aten::add.Tensor`; None when it needs no watching."""
    namespace, _, rest = name.partition("::")
    base, _, overload_name = rest.partition(".")
    if _BARE.match(base):
        return None
    overload = getattr(getattr(getattr(torch.ops, namespace), base), overload_name or "default")
    arguments = overload._schema.arguments
    written: list[int | str] = []
    outputs_only: list[int | str] = []
    for position, argument in enumerate(arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        place: int | str = argument.name if argument.kwarg_only else position
        written.append(place)
        if argument.kwarg_only or _OVERWRITES.match(base):
            outputs_only.append(place)
    return Operator(
        name=name,
        overload=overload,
        base=base.rstrip("_"),
        heavy=bool(_HEAVY.match(base)),
        light=bool(_LIGHT.match(base)) or name in _COUNTING,
        foreign=bool(_HEAVY.match(base)) or not torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU"),
        control=bool(_CONTROL.match(base)),
        decides=bool(_CONTROL.match(base)) or base in UNIFORM,
        random=any("Generator" in str(argument.type) for argument in arguments),
        inserts=bool(written) and bool(_INSERTS.match(base)),
        written=tuple(written),
        outputs_only=tuple(outputs_only),
        tensors=tuple(
            i for i, a in enumerate(arguments) if str(a.type) in ("Tensor", "Optional[Tensor]") and not a.kwarg_only
        ),
    )
