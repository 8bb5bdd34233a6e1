"""CUDA's fused LSTM and GRU cells, forward and backward."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from veritasest.engines.emulated.steering.translations.helpers import wide


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
    "aten::_thnn_fused_lstm_cell": fused_lstm_cell,
    "aten::_thnn_fused_lstm_cell_backward_impl": fused_lstm_cell_backward,
    "aten::_thnn_fused_gru_cell": fused_gru_cell,
    "aten::_thnn_fused_gru_cell_backward": fused_gru_cell_backward,
}
