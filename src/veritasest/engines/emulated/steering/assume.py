"""Puts assumed values where the program is about to decide something from unknown ones."""

from __future__ import annotations

import math
from typing import Any

from veritasest.engines.emulated.steering.arguments import listed
from veritasest.engines.emulated.steering.compute import Computer
from veritasest.engines.emulated.steering.contents import ASSUMED, Contents
from veritasest.engines.emulated.steering.limits import INTEGER_LIMIT, limit
from veritasest.engines.emulated.steering.operators import UNIFORM, Operator
from veritasest.engines.emulated.steering.policy import Policy

# Masks that finite numbers make, whatever they are: comparison with an infinity, or with themselves.
_AGAINST_INFINITY = {"eq": False, "ne": True, "lt": True, "le": True, "gt": False, "ge": False}
_AGAINST_ITSELF = {"eq": True, "ne": False, "le": True, "ge": True, "lt": False, "gt": False}
_NEVER = {"isnan", "isposinf", "isneginf"}

_REDUCED = {"all", "any"}


class Assumer:
    def __init__(self, torch: Any, contents: Contents, computer: Computer, policy: Policy) -> None:
        self._torch = torch
        self._contents = contents
        self._computer = computer
        self._policy = policy

    def tensor(self, tensor: Any, *, bounded: bool = True) -> bool:
        """Gives an unknown tensor, or rather all of its storage, contents; False when it is too large."""
        whole = tensor
        storage = tensor.untyped_storage()
        elements = storage.nbytes() // tensor.element_size()
        if bounded and elements > limit(tensor):
            return False
        if tensor.numel() != elements or not tensor.is_contiguous():  # a part of it, or expanded
            whole = self._torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(storage, 0, (elements,), (1,))
        return self._computer.put(whole, self._policy.data(whole.shape, whole.dtype), ASSUMED)

    def number(self, tensor: Any) -> None:
        """One unknown number, which may be part of a storage too large to fill."""
        self._computer.put(tensor, self._policy.data(tensor.shape, tensor.dtype), ASSUMED)

    def outcome(self, operator: Operator, args: tuple[Any, ...], out: Any) -> None:
        """A decision about more data than can be invented: the policy answers for what comes out."""
        uniform = self._uniform(operator, args)
        for result in listed(out):
            if not self._torch.is_tensor(result) or result.dtype.is_floating_point or result.dtype.is_complex:
                continue
            if uniform is not None and result.dtype == self._torch.bool:
                self._fill(result, uniform)
            elif operator.control and result.numel() <= INTEGER_LIMIT:
                is_mask = result.dtype == self._torch.bool
                values = self._policy.mask(result.shape) if is_mask else self._positions(args, result)
                self._computer.put(result, values, ASSUMED)

    def _fill(self, mask: Any, value: bool) -> None:
        if mask.numel() <= INTEGER_LIMIT:
            self._computer.put(mask, self._torch.tensor(value, device="cpu"), ASSUMED)
        else:
            self._contents.remember(mask, ASSUMED, fill=value)

    def _uniform(self, operator: Operator, args: tuple[Any, ...]) -> bool | None:
        """The one value that all elements of the outcome have; None: they differ."""
        if operator.base in _NEVER:
            return not self._policy.finite
        if operator.base in UNIFORM or operator.base in _REDUCED:
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
        fills = [self._contents.fill(mask) for mask in masks]
        if not masks or any(fill is None for fill in fills):
            return None
        if operator.base in _REDUCED:
            return bool(fills[0])
        on_one = operator.overload(*[self._torch.tensor(fill, device="cpu") for fill in fills])
        return bool(on_one)

    def _positions(self, args: tuple[Any, ...], result: Any) -> Any:
        """Indices along the dimension that the operator looked along; the largest one when it is not told."""
        source = args[0]
        dims = [arg for arg in args[1:] if isinstance(arg, int) and not isinstance(arg, bool)]
        dim = dims[-1] if dims else None
        below = source.shape[dim] if dim is not None and -source.dim() <= dim < source.dim() else source.numel()
        return self._policy.indices(result.shape, below, result.dtype)
