"""The kernels that most operators get: the original's, and the CPU's where the inputs are known and modest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from veritasest.engines.emulated.steering.arguments import all_float, at, listed, tensors
from veritasest.engines.emulated.steering.assume import Assumer
from veritasest.engines.emulated.steering.compute import Computer, Outcome
from veritasest.engines.emulated.steering.contents import REAL, UNKNOWN, Contents, Device
from veritasest.engines.emulated.steering.limits import FLOAT_LIMIT, INTEGER_LIMIT, RANDOM_LIMIT, is_light_work
from veritasest.engines.emulated.steering.operators import Operator
from veritasest.engines.emulated.steering.policy import Policy

# From this version on a tensor that has a Python object counts one use more, for which autograd would clone gradients
# that it could keep: c10/util/intrusive_ptr.h, "PyObject preservation".
PYTHON_OBJECT_IS_A_USE = (2, 11)

Kernel = Callable[..., Any]


class Kernels:
    """`everywhere`: all operators are computed, whatever they cost. `modules`: only while `in_module` is on."""

    def __init__(
        self,
        *,
        torch: Any,
        contents: Contents,
        policy: Policy,
        computer: Computer,
        everywhere: bool = False,
        modules: bool = False,
    ) -> None:
        self._torch = torch
        self._contents = contents
        self._policy = policy
        self._computer = computer
        self._assumer = Assumer(torch, contents, computer, policy)
        self._everywhere = everywhere
        self._heavy_too = everywhere or modules
        self._thread = _Thread()
        self._task = torch._C._current_graph_task_id
        version = tuple(int(word) for word in torch.__version__.split(".")[:2])
        self._uncount = torch._C._add_cached_tensor if version >= PYTHON_OBJECT_IS_A_USE else None

    @property
    def _all(self) -> bool:
        """Whether the calling thread is where everything is computed."""
        return self._everywhere or self._thread.in_module

    def in_module(self, inside: bool) -> None:
        self._thread.in_module = inside

    def _plain(self, operator: Operator, original: Kernel) -> Kernel:
        def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
            args = self._computer.with_tensors(operator, args)
            state = self._state(operator, args, kwargs)
            if state == UNKNOWN and (self._all or (operator.control and not self._policy.decides(operator.base))):
                state = self._assume_inputs(operator, args, kwargs)
            if state == UNKNOWN or (operator.written and self._is_gradient(operator, args, kwargs)):
                return self._unknown(operator, original, keys, args, kwargs)
            if operator.written:
                return self._change(operator, original, keys, args, kwargs, state)
            outcome = Outcome()
            if not self._thread.in_whole:  # before the kernel, which may move its arguments
                outcome = self._computer.run(operator, args, kwargs, self._computer.seed(operator, args, kwargs))
            with self._thread.inside(whole=operator.heavy):
                out = original(keys, *args, **kwargs)
            if outcome.done and (self._everywhere or self._task() == -1 or not all_float(self._torch, listed(out))):
                self._computer.write(out, outcome.result, state)
            return self._passed(args, kwargs, out)

        return run

    def _unknown(self, operator: Operator, original: Kernel, keys: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        out = original(keys, *args, **kwargs)
        self._forget(operator, args, kwargs, out)
        if operator.decides and not operator.written:
            self._assumer.outcome(operator, args, out)
        return self._passed(args, kwargs, out)

    def _is_gradient(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Numbers written in the backward pass. Nobody steers by them, and books about them would count as a use."""
        if self._everywhere or self._task() == -1:
            return False
        return all_float(self._torch, [each for place in operator.written for each in listed(at(place, args, kwargs))])

    def _change(
        self, operator: Operator, original: Kernel, keys: Any, args: tuple[Any, ...], kwargs: Any, state: int
    ) -> Any:
        """An operator that writes to its arguments: computed when the kernel, and all that it calls, has finished."""
        seed = self._computer.seed(operator, args, kwargs)
        with self._thread.inside(whole=True):
            out = original(keys, *args, **kwargs)
        if self._thread.in_whole:
            return self._passed(args, kwargs, out)
        written = [tensor for place in operator.written for tensor in listed(at(place, args, kwargs))]
        written = [tensor for tensor in written if tensor is not None and tensor.is_cuda]
        if not (_is_zero(operator, args) and self._contents.clear(written[0])):
            granted = all(self._contents.claim(tensor) for tensor in written)
            if not granted or not self._computer.run(operator, args, kwargs, seed).done:
                state = UNKNOWN
        for tensor in written:
            self._contents.remember(tensor, state)
        return self._passed(args, kwargs, out)

    def _mathematics(self, operator: Operator, original: Kernel) -> Kernel:
        """For what is left undone: what it wrote to is unknown from now on."""

        def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
            return self._unknown(operator, original, keys, self._computer.with_tensors(operator, args), kwargs)

        return run

    # Which inputs are known

    def _state(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        """That of the least known input; UNKNOWN also when there is too much to compute."""
        if self._everywhere:
            return REAL
        worst, elements, floats, unbounded = REAL, 0, False, self._thread.in_module
        for place, tensor in tensors(self._torch, args, kwargs):
            if not tensor.is_cuda:
                continue
            elements += tensor.numel()
            floats = floats or tensor.dtype.is_floating_point
            if not unbounded and (elements > INTEGER_LIMIT or (floats and elements > FLOAT_LIMIT)):
                return UNKNOWN
            if place in operator.outputs_only or not tensor.numel():
                continue
            state = self._contents.state(tensor)
            if state != UNKNOWN:
                worst = max(worst, state)
            elif not operator.inserts or place != 0 or tensor.dtype.is_floating_point:
                return UNKNOWN
        if operator.heavy and not unbounded and not (operator.light and is_light_work(self._torch, args)):
            return UNKNOWN
        invents = operator.random or (operator.base == "fill" and not _is_zero(operator, args))
        if unbounded or not invents or not floats:
            return worst
        return UNKNOWN if elements > RANDOM_LIMIT or self._is_weight(args, kwargs) else worst

    def _is_weight(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether what is filled is learned. Weights are not kept when they come from the host either (engine.py)."""
        given = tensors(self._torch, args, kwargs)
        return not self._heavy_too and any(tensor.is_cuda and tensor.requires_grad for _, tensor in given)

    def _assume_inputs(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        for place, tensor in tensors(self._torch, args, kwargs):
            if not tensor.is_cuda or place in operator.outputs_only or not tensor.numel():
                continue
            if self._contents.state(tensor) == UNKNOWN and not self._assumer.tensor(tensor, bounded=not self._all):
                return UNKNOWN
        return self._state(operator, args, kwargs)

    def _forget(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any = None) -> None:
        """What the operator wrote to, or made: a result that its kernel cleared for itself would pass for zeros."""
        written = [tensor for place in operator.written for tensor in listed(at(place, args, kwargs))]
        for tensor in written or listed(out):
            if self._torch.is_tensor(tensor) and tensor.is_cuda and tensor.layout == self._torch.strided:
                self._contents.forget(tensor)

    def _passed(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """In the backward pass: the Python objects that tensors got by passing through here are no uses of them.

        Weights, which checkpointing brings here too, have theirs anyway; autocast would no longer keep their casts."""
        if self._uncount is not None and self._task() != -1:
            for _, tensor in tensors(self._torch, (*args, *listed(out)), kwargs):
                if not (tensor.requires_grad and tensor.is_leaf):
                    self._uncount(tensor)
        return out


def _is_zero(operator: Operator, args: tuple[Any, ...]) -> bool:
    return operator.name == "aten::zero_" or (operator.name == "aten::fill_.Scalar" and args[1] == 0)


class _Thread(threading.local):
    """`answer`: what a count reads, while the kernel of a counting operator runs. `in_whole`: inside an operator that
    is computed as a whole, so that what it calls need not be. `in_module`: see Engine."""

    answer: int | None = None
    in_whole = False
    in_module = False

    @contextmanager
    def answering(self, count: int, device: Device) -> Iterator[None]:
        self.answer = count
        device.answer_reads(True, count)
        try:
            yield
        finally:
            self.answer = None
            device.answer_reads(False, 0)

    @contextmanager
    def inside(self, *, whole: bool) -> Iterator[None]:
        before = self.in_whole
        self.in_whole = before or whole
        try:
            yield
        finally:
            self.in_whole = before
