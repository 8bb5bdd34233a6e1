"""The addresses of the tensors an optimizer works on: what the allocator's blocks hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from veritasest.engines.emulated.agent.guard import guarded
from veritasest.spec.enums import Role


@guarded("the roles of tensors", lambda _: {})
def before_step(optimizer: Any) -> dict[Role, list[int]]:
    """Parameters and gradients: complete when the step begins, the gradients perhaps gone when it ends."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    return {Role.PARAMETERS: _addresses(parameters), Role.GRADIENTS: _addresses(gradients)}


@guarded("the roles of tensors", lambda _: {})
def after_step(optimizer: Any) -> dict[Role, list[int]]:
    return {Role.OPTIMIZER_STATE: _addresses(_tensors(optimizer.state.values()))}


def _tensors(values: Iterable[Any]) -> Iterator[Any]:
    """State is a dict per parameter; some optimizers keep lists in it."""
    for value in values:
        if isinstance(value, dict):
            yield from _tensors(value.values())
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
        elif hasattr(value, "data_ptr"):
            yield value


def _addresses(tensors: Iterable[Any]) -> list[int]:
    """Of the tensors on the GPU. A sharded tensor (DTensor) is where its local part is."""
    parts = [getattr(tensor, "_local_tensor", tensor) for tensor in tensors]
    return [part.data_ptr() for part in parts if part.is_cuda and not part.is_sparse]
