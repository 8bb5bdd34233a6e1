"""cuDNN's CTC loss."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from veritasest.engines.emulated.steering.translations.helpers import operator


def cudnn_ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int] | Tensor,
    target_lengths: Sequence[int] | Tensor,
    blank: int,
    deterministic: bool,  # noqa: ARG001 (changes how, not what)
    zero_infinity: bool,
) -> tuple[Tensor, Tensor]:
    """The losses, and their gradients in the same call, as cuDNN returns them."""
    lengths = [list(map(int, each)) for each in (input_lengths, target_lengths)]
    loss, log_alpha = torch._ctc_loss(log_probs, targets.long(), *lengths, blank, zero_infinity)
    grad = operator("aten::_ctc_loss_backward")(
        torch.ones_like(loss), log_probs, targets.long(), *lengths, loss, log_alpha, blank, zero_infinity
    )
    return loss, grad


TABLE: dict[str, Callable[..., Any]] = {
    "aten::_cudnn_ctc_loss": cudnn_ctc_loss,
    "aten::_cudnn_ctc_loss.Tensor": cudnn_ctc_loss,
}
