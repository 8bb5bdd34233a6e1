"""The three fused kernels behind F.scaled_dot_product_attention, forward and backward: flash, efficient, cuDNN.

They differ in what they save: flash and cuDNN a float32 log-sum-exp of [batch, heads, queries] (cuDNN with a last
dimension of 1), efficient one whose rows are padded to a multiple of 32. The seed of the dropout mask is saved in place
of CUDA's random state.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from veritasest.engines.emulated.steering.translations.attention_math import Inputs, Rule, attend, attend_backward
from veritasest.engines.emulated.steering.translations.rng import new_seed

# Upstream: kAlignLSE in the memory-efficient kernels.
EFFICIENT_ROW_MULTIPLE = 32


def seed_for(dropout_p: float) -> int:
    return new_seed() if dropout_p > 0 else 0


def flash_state(seed: int) -> Tensor:
    return torch.tensor([seed, 0]).view(torch.uint64)


def seed_in(state: Tensor | None, dropout_p: float) -> int:
    if dropout_p == 0 or state is None:
        return 0
    return int(state.flatten()[:1].view(torch.int64))


def pad_rows(logsumexp: Tensor, multiple: int = EFFICIENT_ROW_MULTIPLE) -> Tensor:
    """Pads with infinity, which makes the probabilities there zero."""
    return functional.pad(logsumexp, (0, -logsumexp.shape[-1] % multiple), value=torch.inf)


def _flash_rule(query: Tensor, key: Tensor, dropout_p: float, is_causal: bool, scale: float | None, seed: int) -> Rule:
    """Flash attention lets the last query see the last key."""
    high = key.shape[2] - query.shape[2] if is_causal else None
    return Rule(scale=scale, high=high, dropout_p=dropout_p, seed=seed)


def flash(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,  # noqa: ARG001 (only for PyTorch's own tests)
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    seed = seed_for(dropout_p)
    out, logsumexp = attend(Inputs(query, key, value), _flash_rule(query, key, dropout_p, is_causal, scale, seed))
    return out, logsumexp, None, None, query.shape[2], key.shape[2], flash_state(seed), None, None


def flash_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    cum_seq_q: Tensor | None,  # noqa: ARG001 (nested tensors only)
    cum_seq_k: Tensor | None,  # noqa: ARG001
    max_q: int,  # noqa: ARG001
    max_k: int,  # noqa: ARG001
    dropout_p: float,
    is_causal: bool,
    philox_seed: Tensor,
    philox_offset: Tensor,  # noqa: ARG001 (the seed is enough here)
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    rule = _flash_rule(query, key, dropout_p, is_causal, scale, seed_in(philox_seed, dropout_p))
    return attend_backward(grad_out, Inputs(query, key, value), out, logsumexp, rule)[:3]


def _top_left_rule(dropout_p: float, is_causal: bool, scale: float | None, seed: int) -> Rule:
    """Efficient and cuDNN attention let the first query see the first key only."""
    return Rule(scale=scale, high=0 if is_causal else None, dropout_p=dropout_p, seed=seed)


def efficient(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    seed = seed_for(dropout_p)
    out, logsumexp = attend(Inputs(query, key, value, attn_bias), _top_left_rule(dropout_p, is_causal, scale, seed))
    saved = pad_rows(logsumexp) if compute_log_sumexp else logsumexp[:, :, :0]
    return out, saved, torch.tensor(seed), torch.tensor(0)


def efficient_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    out: Tensor,
    logsumexp: Tensor,
    philox_seed: Tensor,
    philox_offset: Tensor,  # noqa: ARG001
    dropout_p: float,
    grad_input_mask: Sequence[bool],
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    rule = _top_left_rule(dropout_p, is_causal, scale, seed_in(philox_seed, dropout_p))
    bias_grad = attn_bias is not None and grad_input_mask[3]
    inputs = Inputs(query, key, value, attn_bias)
    return attend_backward(grad_out, inputs, out, logsumexp, rule, bias_grad=bias_grad)


def cudnn(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,  # noqa: ARG001
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    seed = seed_for(dropout_p)
    out, logsumexp = attend(Inputs(query, key, value, attn_bias), _top_left_rule(dropout_p, is_causal, scale, seed))
    saved = logsumexp[..., None] if compute_log_sumexp else None
    return out, saved, None, None, query.shape[2], key.shape[2], torch.tensor(seed), torch.tensor(0), None


def cudnn_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    philox_seed: Tensor,
    philox_offset: Tensor,  # noqa: ARG001
    attn_bias: Tensor | None,
    cum_seq_q: Tensor | None,
    cum_seq_k: Tensor | None,  # noqa: ARG001
    max_q: int,  # noqa: ARG001
    max_k: int,  # noqa: ARG001
    dropout_p: float,
    is_causal: bool,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    if cum_seq_q is not None:
        raise NotImplementedError("cuDNN attention over nested tensors has no CPU translation")
    rule = _top_left_rule(dropout_p, is_causal, scale, seed_in(philox_seed, dropout_p))
    inputs = Inputs(query, key, value, attn_bias)
    return attend_backward(grad_out, inputs, out, logsumexp.squeeze(-1), rule)[:3]


TABLE: dict[str, Callable[..., Any]] = {
    "aten::_scaled_dot_product_flash_attention": flash,
    "aten::_scaled_dot_product_flash_attention_backward": flash_backward,
    "aten::_scaled_dot_product_efficient_attention": efficient,
    "aten::_scaled_dot_product_efficient_attention_backward": efficient_backward,
    "aten::_scaled_dot_product_cudnn_attention": cudnn,
    "aten::_scaled_dot_product_cudnn_attention_backward": cudnn_backward,
    "aten::_cudnn_attention_backward": cudnn_backward,
}
