"""Kernels through which values travel between host and device: `.item()`, `torch.equal`, copies, loss scaling."""

from __future__ import annotations

from typing import Any

from veritasest.engines.emulated.agent import frames
from veritasest.engines.emulated.steering.executor import Outcome
from veritasest.engines.emulated.steering.kernels.compute import ComputeKernels
from veritasest.engines.emulated.steering.kernels.context import Kernel, KernelContext
from veritasest.engines.emulated.steering.kernels.inputs import Inputs
from veritasest.engines.emulated.steering.limits import limit, upload_limit
from veritasest.engines.emulated.steering.memory.state import ASSUMED, REAL, UNKNOWN
from veritasest.engines.emulated.steering.operators import Operator


class ReadKernels:
    def __init__(self, context: KernelContext, inputs: Inputs, compute: ComputeKernels) -> None:
        self._context = context
        self._inputs = inputs
        self._compute = compute

    def item(self, operator: Operator, original: Kernel) -> Kernel:
        """`.item()`, `bool()`, `int()`, `float()`: one number for the host."""
        context = self._context

        def run(keys: Any, tensor: Any) -> Any:
            answer = context.thread.answer
            if answer is not None:
                return bool(answer) if tensor.dtype == context.torch.bool else answer
            state = context.tracker.state(tensor)
            if state == REAL:
                return original(keys, tensor)
            if state == UNKNOWN:
                context.assumed.number(tensor)
            value = original(keys, tensor)
            place = context.reads.number(operator.base, tensor, value)
            if isinstance(value, bool):
                return context.policy.decision_for(value, place, frames.innermost())
            return context.policy.scalar_for(value, place, frames.innermost()) if isinstance(value, float) else value

        return run

    def equal(self, operator: Operator, original: Kernel) -> Kernel:
        """`torch.equal` reads its answer back inside its kernel."""
        context = self._context

        def run(keys: Any, *args: Any) -> Any:
            state = self._inputs.known_or_assumed(operator, args, {})
            outcome = Outcome() if state == UNKNOWN else context.executor.run(operator, args, {})
            answer = bool(outcome.result)
            with context.thread.answering(int(answer), context.device):
                original(keys, *args)
            if state != REAL:
                context.reads.number(operator.base, args[0], answer)
            return answer

        return run

    def copy(self, operator: Operator, original: Kernel) -> Kernel:
        """`copy_`: to the host, on the device, or from the host."""
        context = self._context
        on_device = self._compute.computed(operator, original)

        def run(keys: Any, to: Any, source: Any, *rest: Any) -> Any:
            if not to.is_cuda:
                self._note_copy(operator, source)
                return original(keys, to, source, *rest)
            if source.is_cuda:
                is_decision = source.dtype.is_floating_point and not to.dtype.is_floating_point
                if is_decision and context.tracker.state(source) == UNKNOWN:
                    context.assumed.tensor(source)
                return on_device(keys, to, source, *rest)
            if not context.may_compute_all and (source.requires_grad or source.numel() > upload_limit(source)):
                return self._upload_nothing(original, keys, to, source, *rest)
            out = original(keys, to, source, *rest)
            self._uploaded(to, source)
            return context.uses.passed((to,), {}, out)

        return run

    def _upload_nothing(self, original: Kernel, keys: Any, to: Any, source: Any, *rest: Any) -> Any:
        """Weights and large data: the program's flow does not depend on them, and the host need not hold them twice."""
        context = self._context
        context.device.drop_copies(True)
        try:
            out = original(keys, to, source, *rest)
        finally:
            context.device.drop_copies(False)
        context.tracker.forget(to)
        return context.uses.passed((to,), {}, out)

    def _uploaded(self, to: Any, source: Any) -> None:
        """The device really did a plain copy; one that also converts is done here."""
        context = self._context
        if not context.tracker.claim(to):
            context.tracker.forget(to)
        elif to.dtype == source.dtype and to.shape == source.shape and to.is_contiguous() and source.is_contiguous():
            context.tracker.remember(to, REAL)
        elif not context.thread.in_whole:
            context.executor.put(to, source, REAL)

    def _note_copy(self, operator: Operator, source: Any) -> None:
        context = self._context
        state = context.tracker.state(source)
        if state == REAL or not 0 < source.numel() <= limit(source):
            return
        if state == UNKNOWN:
            context.assumed.tensor(source)
        context.reads.copy(operator.base, source)

    def overflow_check(self, operator: Operator, original: Kernel) -> Kernel:
        """Loss scaling: whether any gradient overflowed. The gradients are unknown, so the answer is assumed."""
        context = self._context

        def run(keys: Any, gradients: Any, found_inf: Any, inverse_scale: Any) -> Any:
            self._inputs.forget(operator, (gradients, found_inf), {})
            out = original(keys, gradients, found_inf, inverse_scale)
            verdict = context.torch.full(found_inf.shape, 0.0 if context.policy.finite else 1.0, device="cpu")
            context.executor.put(found_inf, verdict, ASSUMED)
            return out

        return run
