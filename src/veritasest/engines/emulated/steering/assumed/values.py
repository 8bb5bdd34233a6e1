"""Writes assumed values where the program is about to decide something from unknown ones."""

from __future__ import annotations

import math
from typing import Any

from veritasest.engines.emulated.steering.assumed.policy import AssumptionPolicy
from veritasest.engines.emulated.steering.executor import CpuExecutor
from veritasest.engines.emulated.steering.kernels.arguments import listed
from veritasest.engines.emulated.steering.limits import INTEGER_LIMIT, limit
from veritasest.engines.emulated.steering.memory.state import ASSUMED
from veritasest.engines.emulated.steering.memory.tracker import ValueTracker
from veritasest.engines.emulated.steering.operators import Operator
from veritasest.engines.emulated.steering.operators.table import COMBINES_MASKS

# Masks that any finite numbers give: by comparison with infinity, or with themselves.
_AGAINST_INFINITY = {"eq": False, "ne": True, "lt": True, "le": True, "gt": False, "ge": False}
_AGAINST_ITSELF = {"eq": True, "ne": False, "le": True, "ge": True, "lt": False, "gt": False}
_FALSE_IF_FINITE = {"isnan", "isposinf", "isneginf"}

_REDUCES_MASK = {"all", "any"}


class AssumedValues:
    def __init__(self, torch: Any, tracker: ValueTracker, executor: CpuExecutor, policy: AssumptionPolicy) -> None:
        self._torch = torch
        self._tracker = tracker
        self._executor = executor
        self._policy = policy

    def tensor(self, tensor: Any, *, bounded: bool = True) -> bool:
        """Gives all of an unknown tensor's storage values; False if it is too large."""
        whole = tensor
        storage = tensor.untyped_storage()
        elements = storage.nbytes() // tensor.element_size()
        if bounded and elements > limit(tensor):
            return False
        if tensor.numel() != elements or not tensor.is_contiguous():  # a part of it, or expanded
            whole = self._torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(storage, 0, (elements,), (1,))
        return self._executor.put(whole, self._policy.data(whole.shape, whole.dtype), ASSUMED)

    def number(self, tensor: Any) -> None:
        """One unknown number, which may be part of a storage too large to fill."""
        self._executor.put(tensor, self._policy.data(tensor.shape, tensor.dtype), ASSUMED)

    def result(self, operator: Operator, args: tuple[Any, ...], out: Any) -> None:
        """For a decision about more data than can be assumed: the policy gives the result instead."""
        uniform = self._uniform(operator, args)
        for result in listed(out):
            if not self._torch.is_tensor(result) or result.dtype.is_floating_point or result.dtype.is_complex:
                continue
            if uniform is not None and result.dtype == self._torch.bool:
                self._fill(result, uniform)
            elif operator.is_decision and result.numel() <= INTEGER_LIMIT:
                is_mask = result.dtype == self._torch.bool
                values = self._policy.mask(result.shape) if is_mask else self._positions(args, result)
                self._executor.put(result, values, ASSUMED)

    def _fill(self, mask: Any, value: bool) -> None:
        if mask.numel() <= INTEGER_LIMIT:
            self._executor.put(mask, self._torch.tensor(value, device="cpu"), ASSUMED)
        else:
            self._tracker.remember(mask, ASSUMED, fill=value)

    def _uniform(self, operator: Operator, args: tuple[Any, ...]) -> bool | None:
        """The one value that all elements of the result have; None: they differ."""
        if operator.base in _FALSE_IF_FINITE:
            return not self._policy.finite
        if operator.base in COMBINES_MASKS or operator.base in _REDUCES_MASK:
            return self._from_uniform(operator, args)
        if not self._policy.finite or len(args) < 2:
            return None
        if self._torch.is_tensor(args[1]):
            return _AGAINST_ITSELF.get(operator.base) if args[0] is args[1] else None
        is_infinity = isinstance(args[1], float) and math.isinf(args[1])
        answer = _AGAINST_INFINITY.get(operator.base) if is_infinity else None
        return answer if answer is None or args[1] > 0 or operator.base in ("eq", "ne") else not answer

    def _from_uniform(self, operator: Operator, args: tuple[Any, ...]) -> bool | None:
        masks = [arg for arg in args if self._torch.is_tensor(arg) and arg.is_cuda]
        fills = [self._tracker.fill(mask) for mask in masks]
        if not masks or any(fill is None for fill in fills):
            return None
        if operator.base in _REDUCES_MASK:
            return bool(fills[0])
        on_one = operator.overload(*[self._torch.tensor(fill, device="cpu") for fill in fills])
        return bool(on_one)

    def _positions(self, args: tuple[Any, ...], result: Any) -> Any:
        """Indices along the dimension that the operator worked on; within the whole input if it names none."""
        source = args[0]
        dims = [arg for arg in args[1:] if isinstance(arg, int) and not isinstance(arg, bool)]
        dim = dims[-1] if dims else None
        below = source.shape[dim] if dim is not None and -source.dim() <= dim < source.dim() else source.numel()
        return self._policy.indices(result.shape, below, result.dtype)
