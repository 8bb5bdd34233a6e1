"""What the tests of the translations share."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from veritasest.engines.emulated.steering.translations import TRANSLATIONS

HALF = torch.bfloat16


def run(name: str, *args: Any, **kwargs: Any) -> Any:
    """A translation as the device calls it: without autograd."""
    with torch.no_grad():
        return TRANSLATIONS[f"aten::{name}"](*args, **kwargs)


def reference(function: Callable[..., Any], inputs: Sequence[Tensor]) -> tuple[Tensor, Tensor, list[Tensor]]:
    """What autograd gives for `function`: output, a gradient to feed backward, and the gradients of the inputs."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    out = function(*leaves)
    grad_out = torch.randn_like(out)
    return out.detach(), grad_out, list(torch.autograd.grad(out, leaves, grad_out))


def assert_close(actual: Sequence[Any], expected: Sequence[Any], **tolerance: float) -> None:
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(one, other, **tolerance)
