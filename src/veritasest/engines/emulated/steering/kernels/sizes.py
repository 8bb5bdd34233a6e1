"""Kernels of operators whose result's size is counted from values: `nonzero`, `unique`, non-maximum suppression."""

from __future__ import annotations

from typing import Any

from veritasest.engines.emulated.steering.executor import Outcome
from veritasest.engines.emulated.steering.kernels.context import Kernel, KernelContext
from veritasest.engines.emulated.steering.kernels.inputs import Inputs
from veritasest.engines.emulated.steering.limits import INTEGER_LIMIT
from veritasest.engines.emulated.steering.memory.state import REAL, UNKNOWN
from veritasest.engines.emulated.steering.operators import Operator


class SizeKernels:
    def __init__(self, context: KernelContext, inputs: Inputs) -> None:
        self._context = context
        self._inputs = inputs

    def counted(self, operator: Operator, original: Kernel) -> Kernel:
        """The count is computed first; the original kernel then reads it where its own would have left it."""
        context = self._context

        def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
            if context.thread.answer is not None:
                return original(keys, *args, **kwargs)
            state = self._inputs.known_or_assumed(operator, args, kwargs)
            outcome = Outcome() if state == UNKNOWN else context.executor.run(operator, args, kwargs)
            guess = round(context.policy.mask_fraction * args[0].numel())
            count = _count(operator, args, outcome.result) if outcome.done else guess
            with context.thread.answering(count, context.device):
                out = original(keys, *args, **kwargs)
            if state != REAL:
                context.reads.size(operator.base, args[0], count)
            if outcome.done:
                context.executor.write(out, outcome.result, state)
            else:
                context.assumed.result(operator, args, out)
            return out

        return run

    def coalesce(self, original: Kernel) -> Kernel:
        """Sparse tensors: the number of different positions. Unknown ones are assumed to be all different."""
        context = self._context

        def run(keys: Any, sparse: Any) -> Any:
            indices = sparse._indices()
            state, count, distinct = context.tracker.state(indices), indices.shape[1], None
            if state != UNKNOWN and indices.numel() <= INTEGER_LIMIT:
                distinct = context.torch.unique(context.tracker.view(indices), dim=1)
                count = distinct.shape[1]
            with context.thread.answering(count, context.device):
                out = original(keys, sparse)
            if state != REAL:
                context.reads.size("coalesce", indices, count)
            if distinct is not None:
                context.executor.write(out._indices(), distinct, state)
            return out

        return run


def _count(operator: Operator, args: tuple[Any, ...], result: Any) -> int:
    """How many the operator found: the size of its first output, along the dimension it worked on."""
    first = result[0] if isinstance(result, tuple) else result
    along = {"unique_dim": args[1:2], "unique_dim_consecutive": args[1:2], "unique_consecutive": args[3:4]}
    dim = next(iter(along.get(operator.base, ())), None) or 0
    return int(first.shape[dim])
