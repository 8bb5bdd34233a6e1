"""What every operator is: names and families of names by class, and a few traits that go across classes.

A name stands for all overloads, and for the in-place variant (`add` for `add_`) unless that is listed itself. The name
with namespace and overload comes first, then the name, then the families in the order given here.

Frozen for the operators that torch 2.11 and torchvision register for CUDA: `tests/steering/operators_2_11.txt` lists
each with its class.
"""

from __future__ import annotations

from veritasest.engines.emulated.steering.operators.classes import OperatorClass

MEMORY, COMPUTE, DECISION, GEOMETRY, MODEL = (
    OperatorClass.MEMORY,
    OperatorClass.COMPUTE,
    OperatorClass.DECISION,
    OperatorClass.GEOMETRY,
    OperatorClass.MODEL,
)

# One overload that differs from its family: the step counters of an optimizer whose state was loaded onto the GPU.
OVERLOADS = {"aten::_foreach_add_.Scalar": GEOMETRY}

_POINTWISE = """
    abs acos acosh add addcdiv addcmul angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not
    bitwise_or bitwise_right_shift bitwise_xor ceil clamp clamp_max clamp_min complex conj_physical copysign cos cosh
    deg2rad digamma div erf erfc erfinv exp exp2 expm1 floor floor_divide fmax fmin fmod frac frexp gcd hardshrink
    heaviside hypot i0 igamma igammac isinf lcm lerp lgamma log log10 log1p log2 log_sigmoid_forward logaddexp
    logaddexp2 logit maximum minimum mul mvlgamma nan_to_num neg nextafter polar polygamma pow rad2deg reciprocal relu
    remainder round rsqrt rsub sgn sigmoid sign sin sinc sinh softshrink sqrt sub tan tanh trunc where xlogy
    __lshift__ __rshift__ __ilshift__ __irshift__ _prelu_kernel _masked_scale
"""
_REDUCTIONS = """
    _aminmax amax amin cumprod cumsum _cummax_helper _cummin_helper _logcumsumexp hash_tensor mean nansum prod
    segment_reduce std std_mean sum trace var var_mean mv _compute_linear_combination
"""
_INDEXING = """
    cat _chunk_cat clone copy flip gather index index_add index_copy index_fill _index_put_impl index_reduce
    index_select masked_fill masked_scatter narrow_copy nonzero_static permute put roll scatter scatter_add
    scatter_reduce split_with_sizes_copy take tril triu unsqueeze _jagged_to_padded_dense_forward
    _padded_dense_to_jagged_forward
"""
_CREATION = "arange eye fill linspace logspace range tril_indices triu_indices zero zeros"
_RANDOM = """
    _sample_dirichlet _standard_gamma _standard_gamma_grad binomial cauchy exponential geometric log_normal normal
    random randperm uniform
"""
_HOUSEKEEPING = "_amp_update_scale _assert_async _local_scalar_dense dequantize"
_SPARSE = """
    _coalesce _coalesced _cslt_compress _dimI _dimV _nnz _to_dense _validate_compressed_sparse_indices
    copy_sparse_to_sparse dense_dim indices is_coalesced values
"""
# Model code by purpose, but computed where all of its inputs are known and small.
_SMALL_LAYERS = "_mixed_dtypes_linear _transformer_encoder_layer_fwd cudnn_affine_grid_generator cudnn_grid_sampler"

_DECISIONS = """
    eq ne lt le gt ge isnan isneginf isposinf isin isclose equal signbit logical_and logical_not logical_or logical_xor
    any all argmax argmin max min aminmax topk sort kthvalue mode median nanmedian searchsorted bucketize
    nonzero masked_select _unique _unique2 unique_dim unique_consecutive unique_dim_consecutive
    bincount histc count_nonzero repeat_interleave multinomial poisson bernoulli nms
"""

_MEMORY = """
    as_strided _reshape_alias set resize resize_as_sparse record_stream is_pinned is_set_to _pin_memory unfold
    _efficientzerotensor _cudnn_init_dropout_state _fused_sdp_choice _use_cudnn_ctc_loss _dirichlet_grad _values
    _indices
"""

NAMES: tuple[tuple[OperatorClass, str], ...] = (
    (MEMORY, _MEMORY),
    (COMPUTE, _POINTWISE),
    (COMPUTE, _REDUCTIONS),
    (COMPUTE, _INDEXING),
    (COMPUTE, _CREATION),
    (COMPUTE, _RANDOM),
    (COMPUTE, _HOUSEKEEPING),
    (COMPUTE, _SPARSE),
    (COMPUTE, _SMALL_LAYERS),
    (DECISION, _DECISIONS),
    (GEOMETRY, "mm bmm addmm baddbmm dot _cdist_forward linalg_vector_norm norm _softmax _log_softmax"),
    (MODEL, "addmm_ baddbmm_"),  # in place: accumulates into a result of the model
)

# Families: `*` stands for any text. The first that matches decides.
FAMILIES: tuple[tuple[OperatorClass, str], ...] = (
    (MEMORY, "empty* new_empty* view* alias* lift* _nested* _sparse* sparse_* to_sparse* _to_sparse*"),
    (COMPUTE, "special_*"),
    (MODEL, "*backward* *_jvp *loss* binary_cross_entropy*"),
    (MODEL, "_foreach_* _fused_* _amp_foreach_*"),
    (MODEL, "*conv* *attention* *rnn* *lstm* *gru* _thnn_* *norm* *dropout* _embedding_bag* embedding_*"),
    (MODEL, "*mm *mm_* addmv addr vdot _grouped_* _scaled_* _weight_*"),
    (MODEL, "*elu* *silu mish softplus hard* threshold glu _masked_softmax"),
    (MODEL, "*pool* *upsample* *pad1d *pad2d *pad3d grid_sampler_* im2col col2im pixel_* channel_shuffle"),
    (MODEL, "roi_* ps_roi_* deform_* _transform_bias*"),
    (MODEL, "*fft* linalg_* _linalg_* *cholesky* triangular_solve lu_* ormqr geqrf *cdist* _pdist*"),
    (MODEL, "*quantize* _make_per_* *int4* *int8* _dyn_quant*"),
)

# Traits

# The size of the result is counted by a kernel and read back by the host.
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

# Take a number in the place of the first tensor. Their own kernels put it on the GPU as a "wrapped number", which
# PyTorch cannot hand to Python; the value is the overload for tensors that does the same.
NUMBER_FIRST = {
    "aten::pow.Scalar": "Tensor_Tensor",
    "aten::pow.Scalar_out": "Tensor_Tensor_out",
    "aten::isin.Scalar_Tensor": "Tensor_Tensor",
    "aten::isin.Scalar_Tensor_out": "Tensor_Tensor_out",
}

# Write to their argument without reading it.
_OVERWRITES = """
    fill zero copy random uniform normal bernoulli exponential geometric cauchy log_normal eye arange randperm
    _cummax_helper _cummin_helper
"""
OVERWRITES = frozenset(_OVERWRITES.split())

# Write to a part of their argument in place. Integers and masks that nothing was written to before are memory that the
# program fills this way.
_INSERTS = "scatter _index_put_impl index_copy index_fill masked_fill masked_scatter put"
INSERTS = frozenset(_INSERTS.split())

# Element by element on masks: of masks that hold one value throughout, the result does as well.
_COMBINES_MASKS = "mul logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not"
COMBINES_MASKS = frozenset(_COMBINES_MASKS.split())
