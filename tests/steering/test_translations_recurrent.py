"""cuDNN's recurrent networks and the fused cells against the modules and their autograd."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from translating import assert_close, reference, run

from veritasest.engines.emulated.steering.translations import TRANSLATIONS

MODES = {"relu": 0, "tanh": 1, "LSTM": 2, "GRU": 3}


@pytest.fixture(autouse=True)
def _same_numbers_every_time() -> None:
    torch.manual_seed(0)


def rnn_arguments(kind: str, module: nn.RNNBase, x: Tensor, states: Sequence[Tensor], sizes: list[int]) -> Any:
    per_set = len(module._flat_weights) // (module.num_layers * (2 if module.bidirectional else 1))
    states = [*states, None][:2]
    shape = (MODES[kind], module.hidden_size, module.proj_size, module.num_layers, module.batch_first)
    how = (module.dropout, True, module.bidirectional, sizes, None)
    return (x, [w.detach() for w in module._flat_weights], per_set, None, *states), (*shape, *how)


def check_rnn(kind: str, module: nn.RNNBase, data: Tensor, states: Sequence[Tensor], sizes: list[int]) -> None:
    leaves = [tensor.clone().requires_grad_() for tensor in (data, *states)]
    x = nn.utils.rnn.PackedSequence(leaves[0], torch.tensor(sizes)) if sizes else leaves[0]
    out, last = module(x, tuple(leaves[1:]) if len(leaves) > 2 else leaves[1])
    results = [out.data if sizes else out, *(last if isinstance(last, tuple) else (last,))]
    grads_out = [torch.randn_like(result) for result in results]
    grads = torch.autograd.grad(results, [*leaves, *module._flat_weights], grads_out)

    inputs, how = rnn_arguments(kind, module, data, states, sizes)
    actual = run("_cudnn_rnn", *inputs, *how)
    assert_close(actual[: len(results)], [result.detach() for result in results])
    grad_cy = grads_out[2] if len(states) == 2 else None
    saved = (actual[0], grads_out[0], grads_out[1], grad_cy)
    dx, dh, dc, dw = run("_cudnn_rnn_backward", *inputs, *saved, *how, None, [True] * 4)
    given = [dx, dh, *([] if dc is None else [dc]), *dw]
    assert_close(given, grads, atol=1e-5, rtol=1e-4)


# Said by PyTorch's own LSTM, once, when it is called with a projection.
@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(list(MODES)),
    num_layers=st.integers(1, 2),
    bidirectional=st.booleans(),
    bias=st.booleans(),
    layout=st.sampled_from(["time first", "batch first", "packed"]),
    projected=st.booleans(),
)
def test_cudnn_networks_equal_the_modules(
    kind: str, num_layers: int, bidirectional: bool, bias: bool, layout: str, projected: bool
) -> None:
    options: dict[str, Any] = {"num_layers": num_layers, "bidirectional": bidirectional, "bias": bias}
    if kind in ("relu", "tanh"):
        options["nonlinearity"] = kind
    if kind == "LSTM" and projected:
        options["proj_size"] = 2
    make = {"LSTM": nn.LSTM, "GRU": nn.GRU}.get(kind, nn.RNN)
    module = make(3, 4, batch_first=layout == "batch first", **options)
    sizes = [3, 3, 2, 1] if layout == "packed" else []
    data = torch.randn(sum(sizes), 3) if sizes else torch.randn((3, 5, 3) if layout == "batch first" else (5, 3, 3))
    sets = num_layers * (2 if bidirectional else 1)
    states = [torch.randn(sets, 3, module.proj_size or 4)]
    if kind == "LSTM":
        states.append(torch.randn(sets, 3, 4))
    check_rnn(kind, module, data, states, sizes)


def test_the_dropout_between_layers_is_the_same_in_forward_and_backward() -> None:
    module = nn.RNN(3, 4, num_layers=2, dropout=0.5, nonlinearity="relu")
    x, state = torch.randn(5, 2, 3), torch.zeros(2, 2, 4)
    inputs, how = rnn_arguments("relu", module, x, [state], [])
    forward = lambda data: run("_cudnn_rnn", data, *inputs[1:], *how)[0]  # noqa: E731
    out = forward(x)
    torch.testing.assert_close(out, forward(x))
    assert not torch.equal(out, run("_cudnn_rnn", *inputs, *how[:5], 0.0, *how[6:])[0])
    # Gradients of a piecewise linear network without biases reproduce it: sum(w * dout/dw) over one layer's output.
    weights = [w if w.dim() == 2 else torch.zeros_like(w) for w in inputs[1]]
    inputs = (inputs[0], weights, *inputs[2:])
    out = run("_cudnn_rnn", *inputs, *how)[0]
    grads = run("_cudnn_rnn_backward", *inputs, out, torch.ones_like(out), None, None, *how, None, [True] * 4)
    assert float((grads[0] * x).sum()) == pytest.approx(float(out.sum()), rel=1e-4)


def test_the_flat_weight_buffer_holds_all_matrices_and_then_all_biases() -> None:
    module = nn.LSTM(3, 4, num_layers=2, proj_size=2)
    flat = run("_cudnn_rnn_flatten_weight", [w.detach() for w in module._flat_weights], 5, 3, 2, 4, 2, 2, False, False)
    order = [0, 1, 4, 5, 6, 9, 2, 3, 7, 8]  # as read off weight.storage_offset() after flatten_parameters() on CUDA
    torch.testing.assert_close(flat, torch.cat([module._flat_weights[i].detach().flatten() for i in order]))
    plain = nn.GRU(3, 4, bias=False)
    flat = run("_cudnn_rnn_flatten_weight", [w.detach() for w in plain._flat_weights], 2, 3, 3, 4, 0, 1, False, False)
    assert flat.numel() == 12 * 3 + 12 * 4 + 2 * 12  # cuDNN's buffer has room for the biases all the same


@pytest.mark.parametrize("bias", [True, False])
def test_fused_cells_equal_the_modules(bias: bool) -> None:
    x, hx, cx = torch.randn(5, 3), torch.randn(5, 4), torch.randn(5, 4)
    for cell in (nn.LSTMCell(3, 4, bias), nn.GRUCell(3, 4, bias)):
        gates = x @ cell.weight_ih.T.detach(), hx @ cell.weight_hh.T.detach()
        biases = [] if not bias else [cell.bias_ih.detach(), cell.bias_hh.detach()]
        if isinstance(cell, nn.LSTMCell):
            expected = [state.detach() for state in cell(x, (hx, cx))]
            inputs = [gates[0], cx]
            hy, cy, workspace = run("_thnn_fused_lstm_cell", *gates, cx, *biases)
            assert_close([hy, cy], expected)
            plain = lambda g, c: torch.cat(lstm_step(g + gates[1] + sum(biases), c), 1)  # noqa: E731, B023
            _, grad, grads = reference(plain, inputs)
            actual = run("_thnn_fused_lstm_cell_backward_impl", *grad.chunk(2, 1), cx, cy, workspace, bias)
            assert_close(actual[:2], grads)
        else:
            hy, workspace = run("_thnn_fused_gru_cell", *gates, hx, *biases)
            torch.testing.assert_close(hy, cell(x, hx).detach())
            shift = biases or [torch.zeros(12), torch.zeros(12)]
            plain = lambda i, h, s: gru_step(i + shift[0], h + shift[1], s)  # noqa: E731, B023
            _, grad, grads = reference(plain, [*gates, hx])
            actual = run("_thnn_fused_gru_cell_backward", grad, workspace, bias)
            assert_close(actual[:3], grads, atol=1e-5, rtol=1e-4)
        if bias:
            torch.testing.assert_close(actual[-1], actual[0 if len(actual) == 3 else 1].sum(0))


def lstm_step(gates: Tensor, cx: Tensor) -> list[Tensor]:
    i, f, g, o = gates.chunk(4, 1)
    cy = f.sigmoid() * cx + i.sigmoid() * g.tanh()
    return [o.sigmoid() * cy.tanh(), cy]


def gru_step(inner: Tensor, hidden: Tensor, hx: Tensor) -> Tensor:
    (ir, iz, i_new), (hr, hz, h_new) = inner.chunk(3, 1), hidden.chunk(3, 1)
    update = (iz + hz).sigmoid()
    return (1 - update) * (i_new + (ir + hr).sigmoid() * h_new).tanh() + update * hx


def test_backward_by_autograd_works_inside_a_kernel_below_autograd() -> None:
    module, x, state = nn.GRU(3, 4), torch.randn(5, 2, 3), torch.zeros(1, 2, 4)
    inputs, how = rnn_arguments("GRU", module, x, [state], [])
    library = torch.library.Library("veritasest_test", "FRAGMENT")
    library.define("grad_of_input(Tensor x) -> Tensor")

    def kernel(data: Tensor) -> Tensor:
        ones = torch.ones(5, 2, 4)
        grads = TRANSLATIONS["aten::_cudnn_rnn_backward"](
            data, *inputs[1:], ones, ones, None, None, *how, None, [True] * 4
        )
        return grads[0]

    library.impl("grad_of_input", kernel, "CPU")
    leaf = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(module(leaf)[0].sum(), leaf)
    try:
        below = torch._C._AutoDispatchBelowAutograd()
        actual = torch.ops.veritasest_test.grad_of_input(x)
        del below
        with torch.inference_mode():
            inferred = torch.ops.veritasest_test.grad_of_input(x.clone())
    finally:
        library._destroy()
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(inferred, expected)
