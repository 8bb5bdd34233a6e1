"""Attention and its gradients as plain matrix products, a few heads at a time so that the scores stay small.

As in the fused kernels, the backward rebuilds the probabilities from the log-sum-exp of the scores that the forward
saved, and gets the row sums it needs from the output. It rebuilds dropout from the forward's seed.
"""

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import torch

from veritasest.engines.emulated.steering.translations.rng import keep_mask, scale_of_kept

# The scores of one round of heads: large enough for efficient products, small enough to disappear in a job's memory.
SCORE_BYTES = 64 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rule:
    """How probabilities follow from queries and keys. Query i sees key j where low <= j - i <= high."""

    scale: float | None = None
    low: int | None = None
    high: int | None = None
    dropout_p: float = 0.0
    seed: int = 0


class Inputs(NamedTuple):
    """Each [batch, heads, length, size]; keys and values may have fewer heads. The bias expands to the scores."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    bias: torch.Tensor | None = None


def attend(inputs: Inputs, rule: Rule) -> tuple[torch.Tensor, torch.Tensor]:
    """Output and float32 log-sum-exp.

    A query that sees no key gets zeros, and infinity as its log-sum-exp, which makes its gradients zero.
    """
    query, value = inputs.query, inputs.value
    heads = _Heads(inputs, rule)
    out = query.new_empty((*query.shape[:3], value.shape[3]))
    logsumexp = torch.empty(query.shape[:3], dtype=torch.float32)
    out_rows, logsumexp_rows = heads.grouped(out), heads.grouped(logsumexp)
    for rows in heads.rounds():
        scores = heads.scores(rows)
        row_logsumexp = scores.logsumexp(-1)
        row_logsumexp[row_logsumexp == -torch.inf] = torch.inf
        probabilities = (scores - row_logsumexp[..., None]).exp_()
        if rule.dropout_p > 0:
            probabilities *= heads.keep(probabilities)
        out_rows[rows] = (probabilities @ heads.value(rows)).to(out.dtype)
        logsumexp_rows[rows] = row_logsumexp.float()
    return out, logsumexp


def attend_backward(
    grad_out: torch.Tensor,
    inputs: Inputs,
    out: torch.Tensor,
    logsumexp: torch.Tensor,
    rule: Rule,
    *,
    bias_grad: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Gradients of query, key, value and, where asked for, bias; `logsumexp` may have padding behind its rows."""
    query, key, value, bias = inputs
    heads = _Heads(inputs, rule)
    grads = [torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in (query, key, value)]
    grad_query, grad_key, grad_value = (heads.grouped(grad) for grad in grads)
    grad_bias = torch.empty((*query.shape[:3], key.shape[2]), dtype=query.dtype) if bias_grad else None
    row_logsumexp = heads.grouped(logsumexp[:, :, : query.shape[2]])
    row_out, row_grad = heads.grouped(out), heads.grouped(grad_out)
    for rows in heads.rounds():
        probabilities = (heads.scores(rows) - row_logsumexp[rows][..., None]).exp_()
        dout = row_grad[rows].to(heads.dtype)
        dprobabilities = dout @ heads.value(rows).mT
        dropped = probabilities
        if rule.dropout_p > 0:
            keep = heads.keep(probabilities)
            dropped = probabilities * keep
            dprobabilities *= keep
        row_sums = (dout * row_out[rows].to(heads.dtype)).sum(-1, keepdim=True)
        dscores = probabilities * (dprobabilities - row_sums)
        grad_value[rows] = (dropped.mT @ dout).sum(1, keepdim=True).to(value.dtype)
        grad_query[rows] = (dscores @ heads.key(rows) * heads.scale).to(query.dtype)
        grad_key[rows] = (dscores.mT @ heads.query(rows) * heads.scale).sum(1, keepdim=True).to(key.dtype)
        if grad_bias is not None:
            heads.grouped(grad_bias)[rows] = dscores.to(grad_bias.dtype)
    if grad_bias is not None and bias is not None:
        grad_bias = grad_bias.sum_to_size(bias.shape)
    return grads[0], grads[1], grads[2], grad_bias


class _Heads:
    """The inputs as rows of [batch x key heads], each with the group of query heads that share the key head."""

    def __init__(self, inputs: Inputs, rule: Rule) -> None:
        query, key, value, bias = inputs
        self.batch, self.key_heads = key.shape[:2]
        self.group = query.shape[1] // self.key_heads if self.key_heads else 1
        self.lengths = (query.shape[2], key.shape[2])
        self.dtype = torch.float64 if query.dtype == torch.float64 else torch.float32
        self.scale = query.shape[-1] ** -0.5 if rule.scale is None else rule.scale
        self.rule = rule
        self.rows = [self.grouped(tensor) for tensor in (query, key, value)]
        self.bias = None
        if bias is not None:
            full = bias.expand(self.batch, query.shape[1], *self.lengths)
            self.bias = full.unflatten(1, (self.key_heads, self.group))
        self.hidden = _hidden(self.lengths, rule)
        self.source = torch.Generator().manual_seed(rule.seed)

    def grouped(self, tensor: torch.Tensor) -> torch.Tensor:
        """[batch, heads, ...] as [batch x key heads, heads of the group, ...]: a view where the strides allow."""
        group = tensor.shape[1] // self.key_heads if self.key_heads else 1
        return tensor.reshape(self.batch * self.key_heads, group, *tensor.shape[2:])

    def rounds(self) -> Iterator[slice]:
        row_bytes = max(1, self.group * self.lengths[0] * self.lengths[1] * self.dtype.itemsize)
        step = max(1, SCORE_BYTES // row_bytes)
        for start in range(0, self.batch * self.key_heads, step):
            yield slice(start, min(start + step, self.batch * self.key_heads))

    def query(self, rows: slice) -> torch.Tensor:
        return self.rows[0][rows].to(self.dtype)

    def key(self, rows: slice) -> torch.Tensor:
        return self.rows[1][rows].to(self.dtype)

    def value(self, rows: slice) -> torch.Tensor:
        return self.rows[2][rows].to(self.dtype)

    def scores(self, rows: slice) -> torch.Tensor:
        scores = (self.query(rows) * self.scale) @ self.key(rows).mT
        if self.bias is not None:
            index = torch.arange(rows.start, rows.stop)
            # Gathered round by round: flattening batch and heads of an expanded mask would copy all of it.
            scores += self.bias[index // self.key_heads, index % self.key_heads]
        if self.hidden is not None:
            scores.masked_fill_(self.hidden, -torch.inf)
        return scores

    def keep(self, probabilities: torch.Tensor) -> torch.Tensor:
        mask = keep_mask(tuple(probabilities.shape), self.rule.dropout_p, self.source)
        return mask.to(self.dtype).mul_(scale_of_kept(self.rule.dropout_p))


def _hidden(lengths: tuple[int, int], rule: Rule) -> torch.Tensor | None:
    if rule.low is None and rule.high is None:
        return None
    distance = torch.arange(lengths[1]) - torch.arange(lengths[0])[:, None]
    hidden = torch.zeros(lengths, dtype=torch.bool)
    if rule.low is not None:
        hidden |= distance < rule.low
    if rule.high is not None:
        hidden |= distance > rule.high
    return hidden
