"""The lower-level attention operators: [batch, length, heads, size], or sequences of any length packed end to end.

They serve nested tensors, `torch.nn.attention.varlen` and libraries that call them directly. Packed sequences are
attended to one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from veritasest.engines.emulated.steering.translations.attention import cudnn, flash_state, pad_rows, seed_for, seed_in
from veritasest.engines.emulated.steering.translations.attention_math import Inputs, Rule, attend, attend_backward

Span = tuple[slice, slice]

# Upstream: CustomMaskType in the memory-efficient kernels.
NO_MASK, CAUSAL_FROM_TOP_LEFT, CAUSAL_FROM_BOTTOM_RIGHT = 0, 1, 2


def _spans(cum_seq_q: Tensor, cum_seq_k: Tensor) -> Iterator[Span]:
    q, k = cum_seq_q.tolist(), cum_seq_k.tolist()
    for i in range(len(q) - 1):
        yield slice(q[i], q[i + 1]), slice(k[i], k[i + 1])


def _heads_first(packed: Tensor, span: slice) -> Tensor:
    """One sequence of [tokens, heads, size] as [1, heads, length, size]."""
    return packed[span].transpose(0, 1)[None]


def _packed_backward(
    packed: Sequence[Tensor], spans: Iterator[Span], logsumexps: Iterator[Tensor], grads: Callable[..., Any]
) -> list[Tensor]:
    """Gradients of query, key and value, one sequence at a time. `packed`: those three, the output's gradient and the
    output, each [tokens, heads, size]."""
    results = [torch.zeros_like(tensor) for tensor in packed[:3]]
    for (here, there), logsumexp in zip(spans, logsumexps, strict=True):
        places = (here, there, there, here, here)
        sequences = (_heads_first(tensor, place) for tensor, place in zip(packed, places, strict=True))
        parts = grads(*sequences, logsumexp)[:3]
        for result, place, part in zip(results, places[:3], parts, strict=True):
            result[place] = part[0].transpose(0, 1)
    return results


def _flash_rule(
    lengths: tuple[int, int],
    is_causal: bool,
    window: tuple[int | None, int | None],
    scale: float | None,
    dropout_p: float,
    seed: int,
) -> Rule:
    """The band ends at the last query and key; a window side of None or below zero is open."""
    shift = lengths[1] - lengths[0]
    left, right = (None if side is None or side < 0 else side for side in window)
    right = 0 if is_causal else right
    return Rule(
        scale=scale,
        low=None if left is None else shift - left,
        high=None if right is None else shift + right,
        dropout_p=dropout_p,
        seed=seed,
    )


def flash_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cum_seq_q: Tensor | None,
    cum_seq_k: Tensor | None,
    max_q: int,  # noqa: ARG001 (the spans say it)
    max_k: int,  # noqa: ARG001
    dropout_p: float,
    is_causal: bool,
    return_debug_mask: bool,  # noqa: ARG001
    *,
    scale: float | None = None,
    window_size_left: int | None = None,
    window_size_right: int | None = None,
    seqused_k: Tensor | None = None,
    alibi_slopes: Tensor | None = None,
) -> tuple[Any, ...]:
    if seqused_k is not None or alibi_slopes is not None:
        raise NotImplementedError("flash attention with seqused_k or alibi_slopes has no CPU translation")
    seed = seed_for(dropout_p)

    def rule(q: Tensor, k: Tensor) -> Rule:
        window = (window_size_left, window_size_right)
        return _flash_rule((q.shape[2], k.shape[2]), is_causal, window, scale, dropout_p, seed)

    if cum_seq_q is None or cum_seq_k is None:
        q, k, v = (tensor.transpose(1, 2) for tensor in (query, key, value))
        out, logsumexp = attend(Inputs(q, k, v), rule(q, k))
        return out.transpose(1, 2), logsumexp, flash_state(seed), None, None
    out = query.new_zeros((*query.shape[:2], value.shape[2]))
    logsumexp = torch.full((query.shape[1], query.shape[0]), torch.inf)
    for here, there in _spans(cum_seq_q, cum_seq_k):
        q, k, v = _heads_first(query, here), _heads_first(key, there), _heads_first(value, there)
        part, logsumexp_part = attend(Inputs(q, k, v), rule(q, k))
        out[here], logsumexp[:, here] = part[0].transpose(0, 1), logsumexp_part[0]
    return out, logsumexp, flash_state(seed), None, None


def flash_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    cum_seq_q: Tensor | None,
    cum_seq_k: Tensor | None,
    max_q: int,  # noqa: ARG001
    max_k: int,  # noqa: ARG001
    dropout_p: float,
    is_causal: bool,
    rng_state: Tensor,
    unused: Tensor,  # noqa: ARG001
    *,
    scale: float | None = None,
    window_size_left: int | None = None,
    window_size_right: int | None = None,
) -> tuple[Any, ...]:
    seed = seed_in(rng_state, dropout_p)

    def grads(*tensors: Tensor) -> tuple[Any, ...]:
        q, k, v, do, o, rows = tensors
        window = (window_size_left, window_size_right)
        rule = _flash_rule((q.shape[2], k.shape[2]), is_causal, window, scale, dropout_p, seed)
        return attend_backward(do, Inputs(q, k, v), o, rows, rule)[:3]

    if cum_seq_q is None or cum_seq_k is None or cum_seq_q.numel() == 0:
        dense = (tensor.transpose(1, 2) for tensor in (query, key, value, grad_out, out))
        return tuple(grad.transpose(1, 2) for grad in grads(*dense, logsumexp))
    rows = (logsumexp[None, :, here] for here, _ in _spans(cum_seq_q, cum_seq_k))
    packed = (query, key, value, grad_out, out)
    return tuple(_packed_backward(packed, _spans(cum_seq_q, cum_seq_k), rows, grads))


def _efficient_rule(
    lengths: tuple[int, int], mask_type: int, window: int | None, scale: float | None, dropout_p: float, seed: int
) -> Rule:
    """A window of n lets a query see itself and the n - 1 keys before it."""
    shift = lengths[1] - lengths[0] if mask_type == CAUSAL_FROM_BOTTOM_RIGHT else 0
    high = None if mask_type == NO_MASK else shift
    low = shift - window + 1 if window else None
    return Rule(scale=scale, low=low, high=high, dropout_p=dropout_p, seed=seed)


def efficient_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    cu_seqlens_q: Tensor | None,
    cu_seqlens_k: Tensor | None,
    max_seqlen_q: int | None,
    max_seqlen_k: int | None,
    dropout_p: float,
    custom_mask_type: int,
    compute_log_sumexp: bool = False,
    *,
    scale: float | None = None,
    seqlen_k: Tensor | None = None,
    window_size: int | None = None,
) -> tuple[Any, ...]:
    if seqlen_k is not None:
        raise NotImplementedError("efficient attention with seqlen_k has no CPU translation")
    seed = seed_for(dropout_p)

    def run(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        lengths = (q.shape[2], k.shape[2])
        rule = _efficient_rule(lengths, custom_mask_type, window_size, scale, dropout_p, seed)
        return attend(Inputs(q, k, v, bias), rule)

    if cu_seqlens_q is None or cu_seqlens_k is None:
        out, logsumexp = run(*(tensor.transpose(1, 2) for tensor in (query, key, value)))
        out = out.transpose(1, 2)
        longest = query.shape[1], key.shape[1]
    else:
        longest = max_seqlen_q or 0, max_seqlen_k or 0
        out = query.new_zeros((*query.shape[:3], value.shape[3]))
        logsumexp = torch.full((len(cu_seqlens_q) - 1, query.shape[2], longest[0]), torch.inf)
        for i, (here, there) in enumerate(_spans(cu_seqlens_q, cu_seqlens_k)):
            part, rows = run(*(_heads_first(t[0], s) for t, s in ((query, here), (key, there), (value, there))))
            out[0, here], logsumexp[i, :, : rows.shape[2]] = part[0].transpose(0, 1), rows[0]
    saved = pad_rows(logsumexp) if compute_log_sumexp else logsumexp[:, :, :0]
    return out, saved, torch.tensor(seed), torch.tensor(0), *longest


def efficient_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    out: Tensor,
    cu_seqlens_q: Tensor | None,
    cu_seqlens_k: Tensor | None,
    max_seqlen_q: int,  # noqa: ARG001
    max_seqlen_k: int,  # noqa: ARG001
    logsumexp: Tensor,
    dropout_p: float,
    philox_seed: Tensor,
    philox_offset: Tensor,  # noqa: ARG001
    custom_mask_type: int,
    bias_requires_grad: bool,
    *,
    scale: float | None = None,
    num_splits_key: int | None = None,  # noqa: ARG001 (changes how, not what)
    window_size: int | None = None,
    shared_storage_dqdkdv: bool = False,  # noqa: ARG001
) -> tuple[Any, ...]:
    seed = seed_in(philox_seed, dropout_p)

    def grads(*tensors: Tensor) -> tuple[Any, ...]:
        q, k, v, do, o, rows = tensors
        lengths = (q.shape[2], k.shape[2])
        rule = _efficient_rule(lengths, custom_mask_type, window_size, scale, dropout_p, seed)
        wanted = bias is not None and bias_requires_grad
        return attend_backward(do, Inputs(q, k, v, bias), o, rows, rule, bias_grad=wanted)

    if cu_seqlens_q is None or cu_seqlens_k is None:
        *dense, grad_bias = grads(*(t.transpose(1, 2) for t in (query, key, value, grad_out, out)), logsumexp)
        return (*(grad.transpose(1, 2) for grad in dense), grad_bias)
    packed = [tensor[0] for tensor in (query, key, value, grad_out, out)]
    rows = (logsumexp[i : i + 1] for i in range(len(logsumexp)))
    return (*(grad[None] for grad in _packed_backward(packed, _spans(cu_seqlens_q, cu_seqlens_k), rows, grads)), None)


def cudnn_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | None,
    cum_seq_q: Tensor | None,
    cum_seq_k: Tensor | None,  # noqa: ARG001
    max_q: int,  # noqa: ARG001
    max_k: int,  # noqa: ARG001
    compute_log_sumexp: bool,
    *rest: Any,
    scale: float | None = None,
) -> tuple[Any, ...]:
    if cum_seq_q is not None:
        raise NotImplementedError("cuDNN attention over nested tensors has no CPU translation")
    return cudnn(query, key, value, attn_bias, compute_log_sumexp, *rest, scale=scale)


TABLE: dict[str, Callable[..., Any]] = {
    "aten::_flash_attention_forward": flash_forward,
    "aten::_flash_attention_backward": flash_backward,
    "aten::_efficient_attention_forward": efficient_forward,
    "aten::_efficient_attention_backward": efficient_backward,
    "aten::_cudnn_attention_forward": cudnn_forward,
}
