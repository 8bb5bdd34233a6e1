"""How well an operator's inputs are known, and whether they are few enough to compute with."""

from __future__ import annotations

from typing import Any

from veritasest.engines.emulated.steering.kernels.arguments import at, listed, tensors
from veritasest.engines.emulated.steering.kernels.context import KernelContext
from veritasest.engines.emulated.steering.limits import FLOAT_LIMIT, INTEGER_LIMIT, RANDOM_LIMIT, is_small_product
from veritasest.engines.emulated.steering.memory.state import REAL, UNKNOWN, ValueState
from veritasest.engines.emulated.steering.operators import Operator

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Inputs:
    def __init__(self, context: KernelContext) -> None:
        self._context = context
        self._torch = context.torch

    def state(self, operator: Operator, args: Args, kwargs: Kwargs) -> ValueState:
        """The state of the least known input; UNKNOWN also if there is too much to compute."""
        context = self._context
        if context.everywhere:
            return REAL
        worst, elements, floats, unbounded = REAL, 0, False, context.thread.in_submodule
        for place, tensor in tensors(self._torch, args, kwargs):
            if not tensor.is_cuda:
                continue
            elements += tensor.numel()
            floats = floats or tensor.dtype.is_floating_point
            if not unbounded and (elements > INTEGER_LIMIT or (floats and elements > FLOAT_LIMIT)):
                return UNKNOWN
            if place in operator.outputs_only or not tensor.numel():
                continue
            state = context.tracker.state(tensor)
            if state != UNKNOWN:
                worst = max(worst, state)
            elif not operator.inserts or place != 0 or tensor.dtype.is_floating_point:
                return UNKNOWN
        if operator.is_model and not unbounded and not (operator.is_geometry and is_small_product(self._torch, args)):
            return UNKNOWN
        if unbounded or not floats or not _makes_numbers(operator, args):
            return worst
        return UNKNOWN if elements > RANDOM_LIMIT or self._is_weight(args, kwargs) else worst

    def _is_weight(self, args: Args, kwargs: Kwargs) -> bool:
        """Whether a trainable tensor is filled. Weights that come from the host are not kept either (reads.py)."""
        given = tensors(self._torch, args, kwargs)
        is_kept = self._context.may_compute_all
        return not is_kept and any(tensor.is_cuda and tensor.requires_grad for _, tensor in given)

    def assume(self, operator: Operator, args: Args, kwargs: Kwargs) -> ValueState:
        """Assumes the unknown inputs; the state afterwards."""
        context = self._context
        bounded = not context.computes_all_here
        for place, tensor in tensors(self._torch, args, kwargs):
            if not tensor.is_cuda or place in operator.outputs_only or not tensor.numel():
                continue
            if context.tracker.state(tensor) == UNKNOWN and not context.assumed.tensor(tensor, bounded=bounded):
                return UNKNOWN
        return self.state(operator, args, kwargs)

    def known_or_assumed(self, operator: Operator, args: Args, kwargs: Kwargs) -> ValueState:
        state = self.state(operator, args, kwargs)
        return self.assume(operator, args, kwargs) if state == UNKNOWN else state

    def written(self, operator: Operator, args: Args, kwargs: Kwargs) -> list[Any]:
        """What the operator writes to among its arguments; None for those that were not given."""
        return [tensor for place in operator.written for tensor in listed(at(place, args, kwargs))]

    def forget(self, operator: Operator, args: Args, kwargs: Kwargs, out: Any = None) -> None:
        """What the operator wrote to, or made, is unknown from now on. Results as well: one that its kernel cleared
        would pass for zeros."""
        for tensor in self.written(operator, args, kwargs) or listed(out):
            if self._torch.is_tensor(tensor) and tensor.is_cuda and tensor.layout == self._torch.strided:
                self._context.tracker.forget(tensor)


def is_zero_fill(operator: Operator, args: Args) -> bool:
    return operator.name == "aten::zero_" or (operator.name == "aten::fill_.Scalar" and args[1] == 0)


def _makes_numbers(operator: Operator, args: Args) -> bool:
    """Numbers from nothing: random ones, or one throughout."""
    return operator.is_random or (operator.base == "fill" and not is_zero_fill(operator, args))
