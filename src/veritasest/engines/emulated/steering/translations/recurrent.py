"""cuDNN's recurrent networks and CUDA's fused LSTM and GRU cells.

A cuDNN network is run again, one layer at a time, by the CPU's own recurrent operators; its backward runs it once more
with autograd. The dropout between layers has to be the same in both. Its seed is made from the input and the weights,
which the two calls share and every step changes, as cuDNN's reserve space is not ours to fill.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from veritasest.engines.emulated.steering.translations.chance import keep_mask, scale_of_kept
from veritasest.engines.emulated.steering.translations.kernels import autograd, cast_like, wide

# Upstream: cudnnRNNMode_t, in its order.
RNN_RELU, RNN_TANH, LSTM, GRU = range(4)
_LAYERS = {RNN_RELU: torch.rnn_relu, RNN_TANH: torch.rnn_tanh, LSTM: torch.lstm, GRU: torch.gru}


def _network(
    input: Tensor,  # noqa: A002 (the schema's name)
    weight: Sequence[Tensor],
    weight_stride0: int,
    hx: Tensor,
    cx: Tensor | None,
    mode: int,
    num_layers: int,
    batch_first: bool,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_sizes: Sequence[int],
) -> tuple[Tensor, Tensor, Tensor | None]:
    directions = 2 if bidirectional else 1
    has_biases = weight_stride0 >= 4  # two matrices a direction, two biases, and a projection: 2 or 3 without biases
    sequence = input.transpose(0, 1) if batch_first and not batch_sizes else input
    lengths = (torch.tensor(batch_sizes),) if batch_sizes else ()
    time_first = () if batch_sizes else (False,)
    source = torch.Generator().manual_seed(_seed_from(input, weight[0])) if dropout > 0 and train else None
    last_h, last_c = [], []
    for layer in range(num_layers):
        states = slice(layer * directions, (layer + 1) * directions)
        weights = list(weight[states.start * weight_stride0 : states.stop * weight_stride0])
        hidden = hx[states] if cx is None else [hx[states], cx[states]]
        options = (has_biases, 1, 0.0, train, bidirectional)
        with _no_onednn(weight_stride0 in (3, 5)):
            sequence, *state = _LAYERS[mode](sequence, *lengths, hidden, weights, *options, *time_first)
        last_h.append(state[0])
        last_c.extend(state[1:])
        if source is not None and layer < num_layers - 1:
            sequence = sequence * keep_mask(tuple(sequence.shape), dropout, source) * scale_of_kept(dropout)
    output = sequence.transpose(0, 1) if batch_first and not batch_sizes else sequence
    return output, torch.cat(last_h), torch.cat(last_c) if last_c else None


@contextlib.contextmanager
def _no_onednn(projected: bool) -> Iterator[None]:
    """PyTorch would warn that oneDNN has no projections, and the user's job did not ask for oneDNN."""
    enabled = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(enabled and not projected)
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(enabled)


def _seed_from(*tensors: Tensor) -> int:
    bits = (tensor.detach().contiguous().flatten().view(torch.uint8) for tensor in tensors)
    return sum(int(part.to(torch.int64).sum()) << (20 * i) for i, part in enumerate(bits)) % 2**62


def cudnn_rnn(
    input: Tensor,  # noqa: A002
    weight: Sequence[Tensor],
    weight_stride0: int,
    weight_buf: Tensor | None,  # noqa: ARG001 (the weights themselves are given)
    hx: Tensor,
    cx: Tensor | None,
    mode: int,
    hidden_size: int,  # noqa: ARG001
    proj_size: int,  # noqa: ARG001
    num_layers: int,
    batch_first: bool,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_sizes: Sequence[int],
    dropout_state: Tensor | None,  # noqa: ARG001
) -> tuple[Any, ...]:
    how = (mode, num_layers, batch_first, dropout, train, bidirectional, batch_sizes)
    output, hy, cy = _network(wide(input), wide(weight), weight_stride0, wide(hx), wide(cx), *how)
    return output.to(input.dtype), hy.to(hx.dtype), cast_like(cy, cx), None, None


def cudnn_rnn_backward(
    input: Tensor,  # noqa: A002
    weight: Sequence[Tensor],
    weight_stride0: int,
    weight_buf: Tensor,  # noqa: ARG001
    hx: Tensor,
    cx: Tensor | None,
    output: Tensor,  # noqa: ARG001
    grad_output: Tensor | None,
    grad_hy: Tensor | None,
    grad_cy: Tensor | None,
    mode: int,
    hidden_size: int,  # noqa: ARG001
    proj_size: int,  # noqa: ARG001
    num_layers: int,
    batch_first: bool,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_sizes: Sequence[int],
    dropout_state: Tensor | None,  # noqa: ARG001
    reserve: Tensor,  # noqa: ARG001
    output_mask: Sequence[bool],
) -> tuple[Any, ...]:
    how = (mode, num_layers, batch_first, dropout, train, bidirectional, batch_sizes)
    inputs = [input, hx, *([] if cx is None else [cx]), *weight]
    with autograd():
        leaves = [wide(tensor).detach().clone().requires_grad_() for tensor in inputs]
        new_cx = None if cx is None else leaves[2]
        results = _network(leaves[0], leaves[-len(weight) :], weight_stride0, leaves[1], new_cx, *how)
        pairs = [
            (result, wide(grad))
            for result, grad in zip(results, (grad_output, grad_hy, grad_cy), strict=True)
            if result is not None and grad is not None
        ]
        outputs, grad_outputs = zip(*pairs, strict=True)
        grads = torch.autograd.grad(outputs, leaves, grad_outputs, allow_unused=True)
    filled = [
        torch.zeros_like(model) if grad is None else grad.to(model.dtype)
        for grad, model in zip(grads, inputs, strict=True)
    ]
    grad_cx = None if cx is None else filled[2]
    return filled[0], filled[1], grad_cx, filled[-len(weight) :] if output_mask[3] else []


def cudnn_rnn_flatten_weight(weight_arr: Sequence[Tensor], weight_stride0: int, *_shape: Any) -> Tensor:
    """The buffer cuDNN reads: all matrices, layer by layer and direction by direction, then all biases (or zeros)."""
    sets = [weight_arr[i : i + weight_stride0] for i in range(0, len(weight_arr), weight_stride0)]
    matrices = [tensor for one in sets for tensor in one if tensor.dim() == 2]
    biases = [tensor for one in sets for tensor in one if tensor.dim() == 1]
    absent = 0 if biases else sum(2 * one[0].shape[0] for one in sets)
    return torch.cat([tensor.flatten() for tensor in [*matrices, *biases, matrices[0].new_zeros(absent)]])


def fused_lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    gates = wide(input_gates) + wide(hidden_gates)
    if input_bias is not None and hidden_bias is not None:
        gates = gates + wide(input_bias) + wide(hidden_bias)
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * wide(cx) + i * g
    hy = o * cy.tanh()
    return hy.to(cx.dtype), cy.to(cx.dtype), torch.cat([i, f, g, o], 1).to(input_gates.dtype)


def fused_lstm_cell_backward(
    grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    i, f, g, o = wide(workspace).chunk(4, 1)
    t = wide(cy).tanh()
    dh = torch.zeros_like(t) if grad_hy is None else wide(grad_hy)
    dc = dh * o * (1 - t * t)
    if grad_cy is not None:
        dc = dc + wide(grad_cy)
    parts = [dc * g * i * (1 - i), dc * wide(cx) * f * (1 - f), dc * i * (1 - g * g), dh * t * o * (1 - o)]
    grad_gates = torch.cat(parts, 1).to(workspace.dtype)
    return grad_gates, (dc * f).to(cx.dtype), grad_gates.sum(0) if has_bias else None


def fused_gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    inner, hidden = wide(input_gates), wide(hidden_gates)
    if input_bias is not None and hidden_bias is not None:
        inner, hidden = inner + wide(input_bias), hidden + wide(hidden_bias)
    (ir, iz, i_new), (hr, hz, h_new) = inner.chunk(3, 1), hidden.chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (i_new + r * h_new).tanh()
    hy = n + z * (wide(hx) - n)
    return hy.to(hx.dtype), torch.cat([r, z, n, wide(hx), h_new], 1).to(hx.dtype)


def fused_gru_cell_backward(grad_hy: Tensor, workspace: Tensor, has_bias: bool) -> tuple[Any, ...]:
    r, z, n, hx, h_new = wide(workspace).chunk(5, 1)
    dh = wide(grad_hy)
    dn = dh * (1 - z) * (1 - n * n)
    dr, dz = dn * h_new * r * (1 - r), dh * (hx - n) * z * (1 - z)
    grad_input = torch.cat([dr, dz, dn], 1).to(workspace.dtype)
    grad_hidden = torch.cat([dr, dz, dn * r], 1).to(workspace.dtype)
    biases = (grad_input.sum(0), grad_hidden.sum(0)) if has_bias else (None, None)
    return grad_input, grad_hidden, (dh * z).to(workspace.dtype), *biases


TABLE: dict[str, Callable[..., Any]] = {
    "aten::_cudnn_rnn": cudnn_rnn,
    "aten::_cudnn_rnn_backward": cudnn_rnn_backward,
    "aten::_cudnn_rnn_flatten_weight": cudnn_rnn_flatten_weight,
    "aten::_thnn_fused_lstm_cell": fused_lstm_cell,
    "aten::_thnn_fused_lstm_cell_backward_impl": fused_lstm_cell_backward,
    "aten::_thnn_fused_gru_cell": fused_gru_cell,
    "aten::_thnn_fused_gru_cell_backward": fused_gru_cell_backward,
}
