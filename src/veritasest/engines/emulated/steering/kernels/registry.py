"""Replaces the CUDA kernel of every watched operator by a Python function that calls the original.

The CUDA kernel always runs, as on a GPU: it allocates what it allocates. Replacing the kernels (`torch.library`) leaves
everything above them (autograd, autocast, dispatch modes, compilation) as it is. A `TorchDispatchMode` would not, since
autograd accumulates gradients differently under one.

Known limitations: kernels that bypass the dispatcher (Triton's, those of extensions) are not watched. Tensors that they
fill are unknown; tensors that they change in place keep the state they had.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from veritasest.engines.emulated.agent.guard import guarded, theirs
from veritasest.engines.emulated.steering.kernels.compute import ComputeKernels
from veritasest.engines.emulated.steering.kernels.context import Kernel, KernelContext
from veritasest.engines.emulated.steering.kernels.inputs import Inputs
from veritasest.engines.emulated.steering.kernels.reads import ReadKernels
from veritasest.engines.emulated.steering.kernels.sizes import SizeKernels
from veritasest.engines.emulated.steering.operators import Operator, OperatorClass, describe
from veritasest.engines.emulated.steering.operators.table import COUNTED, NUMBER_FIRST

NAMESPACES = ("aten::", "torchvision::")


class KernelRegistry:
    def __init__(self, context: KernelContext) -> None:
        self._context = context
        self._torch = context.torch
        inputs = Inputs(context)
        self._compute = ComputeKernels(context, inputs)
        self._reads = ReadKernels(context, inputs, self._compute)
        self._sizes = SizeKernels(context, inputs)
        self._libraries: dict[str, Any] = {}
        self._watched: set[str] = set()
        self._watches_sparse = False

    def install(self) -> None:
        """Replaces the CUDA kernels registered so far; call again when another library has registered its own."""
        self._context.uses.enable()
        names = self._torch._C._dispatch_get_registrations_for_dispatch_key("CUDA")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns that a kernel is replaced, which is intended
            for name in [*names, "aten::copy_"]:
                if name.startswith(NAMESPACES) and name not in self._watched:
                    self._watched.add(name)
                    self._watch(name)
            if not self._watches_sparse:
                self._watches_sparse = True
                self._watch_sparse()

    def _watch_sparse(self) -> None:
        """Operators with a sparse argument have kernels of their own. Only their number of positions is of interest;
        dense tensors that they write to are unknown from then on."""
        self._replace("aten::_coalesce", "SparseCUDA", self._sizes.coalesce)
        for name in self._torch._C._dispatch_get_registrations_for_dispatch_key("SparseCUDA"):
            operator = describe(self._torch, name) if name.startswith(NAMESPACES) else None
            if operator is not None and operator.written:
                self._replace(name, "SparseCUDA", partial(self._compute.left_out, operator))

    def _watch(self, name: str) -> None:
        operator = describe(self._torch, name)
        if operator is not None:
            self._replace(name, "CUDA", partial(self._kernel_for, operator))

    def _replace(self, name: str, key: str, make: Callable[[Kernel], Kernel]) -> None:
        original = self._torch.library.get_kernel(name, key).call_boxed
        ours = guarded(f"the values of {name}", instead=original)(make(theirs(original)))
        namespace, _, rest = name.partition("::")
        if namespace not in self._libraries:
            self._libraries[namespace] = self._torch.library.Library(namespace, "IMPL")
        self._libraries[namespace].impl(rest, ours, key, with_keyset=True, allow_override=True)

    def _kernel_for(self, operator: Operator, original: Kernel) -> Kernel:
        if operator.name == "aten::_local_scalar_dense":
            return self._reads.item(operator, original)
        if operator.name == "aten::copy_":
            return self._reads.copy(operator, original)
        if operator.name == "aten::equal":
            return self._reads.equal(operator, original)
        if operator.name == "aten::_amp_foreach_non_finite_check_and_unscale_" and not self._context.everywhere:
            return self._reads.overflow_check(operator, original)
        if operator.name in NUMBER_FIRST:
            return self._compute.number_first(operator)
        if operator.name in COUNTED:
            return self._sizes.counted(operator, original)
        if self._context.may_compute_all or operator.is_geometry or not operator.is_model:
            return self._compute.computed(operator, original)
        if operator.kind is OperatorClass.UNCLASSIFIED:
            return self._compute.unclassified(operator, original)
        return self._compute.left_out(operator, original)
