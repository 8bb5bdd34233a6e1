"""Kernels for most operators: PyTorch's own, and the CPU's where the inputs are known and few."""

from __future__ import annotations

from typing import Any

from veritasest.engines.emulated.agent import frames
from veritasest.engines.emulated.steering.executor import Outcome
from veritasest.engines.emulated.steering.kernels.arguments import all_float, listed
from veritasest.engines.emulated.steering.kernels.context import Kernel, KernelContext
from veritasest.engines.emulated.steering.kernels.inputs import Args, Inputs, Kwargs, is_zero_fill
from veritasest.engines.emulated.steering.memory.state import UNKNOWN, ValueState
from veritasest.engines.emulated.steering.operators import Operator
from veritasest.engines.emulated.steering.operators.table import NUMBER_FIRST


class ComputeKernels:
    def __init__(self, context: KernelContext, inputs: Inputs) -> None:
        self._context = context
        self._inputs = inputs

    def computed(self, operator: Operator, original: Kernel) -> Kernel:
        """For operators whose values are computed if their inputs allow it."""
        context, executor, inputs = self._context, self._context.executor, self._inputs
        assumes_inputs = operator.is_decision and not context.policy.assumes_result_of(operator.base)

        def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
            args = executor.with_tensors(operator, args)
            state = inputs.state(operator, args, kwargs)
            if state == UNKNOWN and (assumes_inputs or context.computes_all_here):
                state = inputs.assume(operator, args, kwargs)
            if state == UNKNOWN or (operator.written and self._writes_gradients(operator, args, kwargs)):
                return self._leave_unknown(operator, original, keys, args, kwargs)
            if operator.written:
                return self._change(operator, original, keys, args, kwargs, state)
            outcome = Outcome()
            if not context.thread.in_whole:  # before the kernel, which may move its arguments
                outcome = executor.run(operator, args, kwargs, executor.generator_state(operator, args, kwargs))
            with context.thread.inside(whole=operator.is_model):
                out = original(keys, *args, **kwargs)
            if outcome.done and not self._are_gradients(listed(out)):
                executor.write(out, outcome.result, state)
            return context.uses.passed(args, kwargs, out)

        return run

    def left_out(self, operator: Operator, original: Kernel) -> Kernel:
        """For operators whose values are not computed: what they wrote to is unknown from now on."""

        def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
            args = self._context.executor.with_tensors(operator, args)
            return self._leave_unknown(operator, original, keys, args, kwargs)

        return run

    def unclassified(self, operator: Operator, original: Kernel) -> Kernel:
        """The same, and reported: whether its values matter is not known."""
        run_original = self.left_out(operator, original)

        def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
            self._context.report.unclassified(operator.name, frames.current())
            return run_original(keys, *args, **kwargs)

        return run

    def number_first(self, operator: Operator) -> Kernel:
        """As the original does, by the overload for tensors, with the number in a block of its own on the GPU."""
        torch = self._context.torch
        for_tensors = getattr(getattr(torch.ops.aten, operator.base), NUMBER_FIRST[operator.name])

        def run(_keys: Any, number: Any, tensor: Any, *rest: Any, **kwargs: Any) -> Any:
            dtype = torch.result_type(tensor, number)
            return for_tensors(torch.full((), number, dtype=dtype, device=tensor.device), tensor, *rest, **kwargs)

        return run

    def _leave_unknown(self, operator: Operator, original: Kernel, keys: Any, args: Args, kwargs: Kwargs) -> Any:
        out = original(keys, *args, **kwargs)
        self._inputs.forget(operator, args, kwargs, out)
        if operator.has_assumable_result and not operator.written:
            self._context.assumed.result(operator, args, out)
        return self._context.uses.passed(args, kwargs, out)

    def _are_gradients(self, values: Any) -> bool:
        """Floats of the backward pass. They do not control the program, and tracking them would count as a use."""
        context = self._context
        return not context.everywhere and context.uses.in_backward() and all_float(context.torch, values)

    def _writes_gradients(self, operator: Operator, args: Args, kwargs: Kwargs) -> bool:
        return self._are_gradients(self._inputs.written(operator, args, kwargs))

    def _change(
        self, operator: Operator, original: Kernel, keys: Any, args: Args, kwargs: Kwargs, state: ValueState
    ) -> Any:
        """An operator that writes to its arguments: computed after the kernel, and all that it calls, has finished."""
        context = self._context
        generator_state = context.executor.generator_state(operator, args, kwargs)
        with context.thread.inside(whole=True):
            out = original(keys, *args, **kwargs)
        if context.thread.in_whole:
            return context.uses.passed(args, kwargs, out)
        written = [t for t in self._inputs.written(operator, args, kwargs) if t is not None and t.is_cuda]
        if not (is_zero_fill(operator, args) and context.tracker.clear(written[0])):
            granted = all(context.tracker.claim(tensor) for tensor in written)
            if not granted or not context.executor.run(operator, args, kwargs, generator_state).done:
                state = UNKNOWN
        for tensor in written:
            context.tracker.remember(tensor, state)
        return context.uses.passed(args, kwargs, out)
