"""Watches every operator that reaches the emulated GPU, and computes on the CPU what may steer the program.

The CUDA kernel always runs, as on a GPU: it allocates what it allocates. Where the inputs are known and modest, the CPU
kernel of the same operator computes the values, in the device's own memory. The rest stays unknown.

Each operator's kernel for CUDA is replaced by a Python function (`torch.library`), which calls the original. That
leaves all that lies above (autograd, autocast, dispatch modes, compilation) as it is: a `TorchDispatchMode` would not,
since autograd accumulates gradients differently under one.

Known limitations: kernels that bypass the dispatcher (Triton's, those of extensions) write unseen; tensors that they
fill are unknown, tensors that they change in place keep the state they had.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from veritasest.engines.emulated.agent import frames
from veritasest.engines.emulated.agent.guard import guarded, theirs
from veritasest.engines.emulated.steering.compute import Outcome
from veritasest.engines.emulated.steering.contents import ASSUMED, REAL, UNKNOWN, Device
from veritasest.engines.emulated.steering.kernels import Kernel, Kernels
from veritasest.engines.emulated.steering.limits import INTEGER_LIMIT, limit, upload_limit
from veritasest.engines.emulated.steering.operators import COUNTED, NUMBER_FIRST, Operator, describe
from veritasest.engines.emulated.steering.reads import Reads

NAMESPACES = ("aten::", "torchvision::")


class Engine(Kernels):
    """Puts our kernels in place, and has those of the operators that steer."""

    def __init__(self, *, device: Device, reads: Reads, **rest: Any) -> None:
        super().__init__(**rest)
        self._device = device
        self._reads = reads
        self._libraries: dict[str, Any] = {}
        self._watched: set[str] = set()
        self._watches_sparse = False

    def install(self) -> None:
        """Takes over the CUDA kernels known so far; call again when another library has registered its own."""
        if self._uncount is not None:
            self._torch._C._set_cached_tensors_enabled(True)
        names = self._torch._C._dispatch_get_registrations_for_dispatch_key("CUDA")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns that a kernel is replaced: that is the point
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
        self._replace("aten::_coalesce", "SparseCUDA", self._coalescer)
        for name in self._torch._C._dispatch_get_registrations_for_dispatch_key("SparseCUDA"):
            operator = describe(self._torch, name) if name.startswith(NAMESPACES) else None
            if operator is not None and operator.written:
                self._replace(name, "SparseCUDA", partial(self._mathematics, operator))

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
            return self._reader(operator, original)
        if operator.name == "aten::copy_":
            return self._copier(operator, original)
        if operator.name == "aten::_amp_foreach_non_finite_check_and_unscale_" and not self._everywhere:
            return self._overflow_check(operator, original)
        if operator.name == "aten::equal":
            return self._comparer(operator, original)
        if operator.name in NUMBER_FIRST:
            return self._number_first(operator)
        if operator.name in COUNTED:
            return self._counter(operator, original)
        if self._heavy_too or operator.light or not operator.heavy:
            return self._plain(operator, original)
        return self._mathematics(operator, original)

    def _reader(self, operator: Operator, original: Kernel) -> Kernel:
        def run(keys: Any, tensor: Any) -> Any:
            if self._thread.answer is not None:
                return bool(self._thread.answer) if tensor.dtype == self._torch.bool else self._thread.answer
            state = self._contents.state(tensor)
            if state == REAL:
                return original(keys, tensor)
            if state == UNKNOWN:
                self._assumer.number(tensor)
            value = original(keys, tensor)
            place = self._reads.note("number", operator.base, tensor, value)
            if isinstance(value, bool):
                return self._policy.decision(value, place, frames.innermost())
            return self._policy.told(value, place, frames.innermost()) if isinstance(value, float) else value

        return run

    def _comparer(self, operator: Operator, original: Kernel) -> Kernel:
        """`torch.equal` reads its answer back inside."""

        def run(keys: Any, *args: Any) -> Any:
            state = self._state(operator, args, {})
            if state == UNKNOWN:
                state = self._assume_inputs(operator, args, {})
            outcome = Outcome() if state == UNKNOWN else self._computer.run(operator, args, {})
            answer = bool(outcome.result)
            with self._thread.answering(int(answer), self._device):
                original(keys, *args)
            if state != REAL:
                self._reads.note("number", operator.base, args[0], answer)
            return answer

        return run

    def _number_first(self, operator: Operator) -> Kernel:
        """As the original does, by the overload for tensors, with the number in a block of its own on the GPU."""
        packet = getattr(self._torch.ops.aten, operator.base)
        for_tensors = getattr(packet, NUMBER_FIRST[operator.name])

        def run(_keys: Any, number: Any, tensor: Any, *rest: Any, **kwargs: Any) -> Any:
            dtype = self._torch.result_type(tensor, number)
            return for_tensors(self._torch.full((), number, dtype=dtype, device=tensor.device), tensor, *rest, **kwargs)

        return run

    def _copier(self, operator: Operator, original: Kernel) -> Kernel:
        plain = self._plain(operator, original)

        def run(keys: Any, to: Any, source: Any, *rest: Any) -> Any:
            if not to.is_cuda:
                self._note_copy(operator, source)
                return original(keys, to, source, *rest)
            if source.is_cuda:
                decides = source.dtype.is_floating_point and not to.dtype.is_floating_point
                if decides and self._contents.state(source) == UNKNOWN:
                    self._assumer.tensor(source)
                return plain(keys, to, source, *rest)
            if not self._heavy_too and (source.requires_grad or source.numel() > upload_limit(source)):
                return self._upload_nothing(original, keys, to, source, *rest)
            out = original(keys, to, source, *rest)
            self._arrived(to, source)
            return self._passed((to,), {}, out)

        return run

    def _upload_nothing(self, original: Kernel, keys: Any, to: Any, source: Any, *rest: Any) -> Any:
        """Weights and large data: nobody steers by them, and the host need not hold them twice."""
        self._device.drop_copies(True)
        try:
            out = original(keys, to, source, *rest)
        finally:
            self._device.drop_copies(False)
        self._contents.forget(to)
        return self._passed((to,), {}, out)

    def _arrived(self, to: Any, source: Any) -> None:
        """From the host: the device did a plain copy for real; one that also converts is done here."""
        if not self._contents.claim(to):
            self._contents.forget(to)
        elif to.dtype == source.dtype and to.shape == source.shape and to.is_contiguous() and source.is_contiguous():
            self._contents.remember(to, REAL)
        elif not self._thread.in_whole:
            self._computer.put(to, source, REAL)

    def _note_copy(self, operator: Operator, source: Any) -> None:
        state = self._contents.state(source)
        if state == REAL or not 0 < source.numel() <= limit(source):
            return
        if state == UNKNOWN:
            self._assumer.tensor(source)
        self._reads.note("copy", operator.base, source, None)

    def _overflow_check(self, operator: Operator, original: Kernel) -> Kernel:
        """Loss scaling: whether any gradient overflowed. The gradients are unknown, hence the answer assumed."""

        def run(keys: Any, gradients: Any, found_inf: Any, inverse_scale: Any) -> Any:
            self._forget(operator, (gradients, found_inf), {})
            out = original(keys, gradients, found_inf, inverse_scale)
            verdict = self._torch.full(found_inf.shape, 0.0 if self._policy.finite else 1.0, device="cpu")
            self._computer.put(found_inf, verdict, ASSUMED)
            return out

        return run

    def _counter(self, operator: Operator, original: Kernel) -> Kernel:
        """The count is computed first, and the original kernel finds it where its own would have left it."""

        def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
            if self._thread.answer is not None:
                return original(keys, *args, **kwargs)
            state = self._state(operator, args, kwargs)
            if state == UNKNOWN:
                state = self._assume_inputs(operator, args, kwargs)
            outcome = Outcome() if state == UNKNOWN else self._computer.run(operator, args, kwargs)
            guess = round(self._policy.density * args[0].numel())
            count = _count(operator, args, outcome.result) if outcome.done else guess
            with self._thread.answering(count, self._device):
                out = original(keys, *args, **kwargs)
            if state != REAL:
                self._reads.note("size", operator.base, args[0], count)
            if outcome.done:
                self._computer.write(out, outcome.result, state)
            else:
                self._assumer.outcome(operator, args, out)
            return out

        return run

    def _coalescer(self, original: Kernel) -> Kernel:
        """Sparse tensors: how many different positions there are. Unknown ones are taken for all different."""

        def run(keys: Any, sparse: Any) -> Any:
            indices = sparse._indices()
            state, count, distinct = self._contents.state(indices), indices.shape[1], None
            if state != UNKNOWN and indices.numel() <= INTEGER_LIMIT:
                distinct = self._torch.unique(self._contents.view(indices), dim=1)
                count = distinct.shape[1]
            with self._thread.answering(count, self._device):
                out = original(keys, sparse)
            if state != REAL:
                self._reads.note("size", "coalesce", indices, count)
            if distinct is not None:
                self._computer.write(out._indices(), distinct, state)
            return out

        return run


def _count(operator: Operator, args: tuple[Any, ...], result: Any) -> int:
    """How many the operator found: the size of its first output, along the dimension it worked on."""
    first = result[0] if isinstance(result, tuple) else result
    along = {"unique_dim": args[1:2], "unique_dim_consecutive": args[1:2], "unique_consecutive": args[3:4]}
    dim = next(iter(along.get(operator.base, ())), None) or 0
    return int(first.shape[dim])
