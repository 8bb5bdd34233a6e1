"""cuDNN's recurrent networks.

A cuDNN network is run again, one layer at a time, by the CPU's own recurrent operators; its backward runs it once more
with autograd. The dropout between layers must be the same in both. Its seed is made from the input and the weights,
which the two calls share and every step changes, because cuDNN's reserve space is not filled here.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from veritasest.engines.emulated.steering.translations.helpers import autograd, cast_like, wide
from veritasest.engines.emulated.steering.translations.rng import keep_mask, scale_of_kept

# Upstream: cudnnRNNMode_t, in its order.
RNN_RELU, RNN_TANH, LSTM, GRU = range(4)
_LAYERS = {RNN_RELU: torch.rnn_relu, RNN_TANH: torch.rnn_tanh, LSTM: torch.lstm, GRU: torch.gru}

SETTINGS = 10  # arguments from `mode` to `dropout_state`, the same in the schemas of forward and backward


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Network:
    """`weights_per_direction`: two matrices, two biases and a projection; biases and projection may be missing."""

    weights_per_direction: int
    mode: int
    num_layers: int
    batch_first: bool
    dropout: float
    train: bool
    bidirectional: bool
    batch_sizes: Sequence[int]

    @classmethod
    def of(cls, weight_stride0: int, settings: Sequence[Any]) -> "_Network":
        """From the arguments `mode` to `dropout_state`. The sizes are those of the weights."""
        mode, _hidden_size, _proj_size, num_layers, batch_first, dropout, train, bidirectional, sizes, _ = settings
        return cls(
            weights_per_direction=weight_stride0,
            mode=mode,
            num_layers=num_layers,
            batch_first=batch_first,
            dropout=dropout,
            train=train,
            bidirectional=bidirectional,
            batch_sizes=sizes,
        )

    def run(
        self,
        input: Tensor,  # noqa: A002 (the schema's name)
        weight: Sequence[Tensor],
        hx: Tensor,
        cx: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        swap_batch = self.batch_first and not self.batch_sizes
        sequence = input.transpose(0, 1) if swap_batch else input
        drops = self.dropout > 0 and self.train
        source = torch.Generator().manual_seed(_seed_from(input, weight[0])) if drops else None
        last_h, last_c = [], []
        for layer in range(self.num_layers):
            sequence, *state = self._layer(layer, sequence, weight, hx, cx)
            last_h.append(state[0])
            last_c.extend(state[1:])
            if source is not None and layer < self.num_layers - 1:
                mask = keep_mask(tuple(sequence.shape), self.dropout, source)
                sequence = sequence * mask * scale_of_kept(self.dropout)
        output = sequence.transpose(0, 1) if swap_batch else sequence
        return output, torch.cat(last_h), torch.cat(last_c) if last_c else None

    def _layer(self, layer: int, sequence: Tensor, weight: Sequence[Tensor], hx: Tensor, cx: Tensor | None) -> Any:
        stride, directions = self.weights_per_direction, 2 if self.bidirectional else 1
        states = slice(layer * directions, (layer + 1) * directions)
        weights = list(weight[states.start * stride : states.stop * stride])
        hidden = hx[states] if cx is None else [hx[states], cx[states]]
        has_biases = stride >= 4
        options = (has_biases, 1, 0.0, self.train, self.bidirectional)
        lengths = (torch.tensor(self.batch_sizes),) if self.batch_sizes else ()
        batch_first = () if self.batch_sizes else (False,)
        with _no_onednn(stride in (3, 5)):
            return _LAYERS[self.mode](sequence, *lengths, hidden, weights, *options, *batch_first)


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
    *settings: Any,
) -> tuple[Any, ...]:
    output, hy, cy = _Network.of(weight_stride0, settings).run(wide(input), wide(weight), wide(hx), wide(cx))
    return output.to(input.dtype), hy.to(hx.dtype), cast_like(cy, cx), None, None


def cudnn_rnn_backward(
    input: Tensor,  # noqa: A002
    weight: Sequence[Tensor],
    weight_stride0: int,
    weight_buf: Tensor,  # noqa: ARG001
    hx: Tensor,
    cx: Tensor | None,
    output: Tensor,  # noqa: ARG001
    *rest: Any,
) -> tuple[Any, ...]:
    """`rest`: three gradients, the settings, cuDNN's reserve space and which gradients are wanted."""
    given_grads, settings, output_mask = rest[:3], rest[3 : 3 + SETTINGS], rest[-1]
    inputs = [input, hx, *([] if cx is None else [cx]), *weight]
    with autograd():
        leaves = [wide(tensor).detach().clone().requires_grad_() for tensor in inputs]
        new_cx = None if cx is None else leaves[2]
        network = _Network.of(weight_stride0, settings)
        results = network.run(leaves[0], leaves[-len(weight) :], leaves[1], new_cx)
        pairs = [
            (result, wide(grad))
            for result, grad in zip(results, given_grads, strict=True)
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


TABLE: dict[str, Callable[..., Any]] = {
    "aten::_cudnn_rnn": cudnn_rnn,
    "aten::_cudnn_rnn_backward": cudnn_rnn_backward,
    "aten::_cudnn_rnn_flatten_weight": cudnn_rnn_flatten_weight,
}
