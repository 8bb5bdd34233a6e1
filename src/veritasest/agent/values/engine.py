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

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from veritasest.agent.values.assume import Assumer
from veritasest.agent.values.compute import Computer, Outcome
from veritasest.agent.values.contents import ASSUMED, REAL, UNKNOWN, Contents, Device
from veritasest.agent.values.limits import FLOAT_LIMIT, INTEGER_LIMIT, RANDOM_LIMIT, limit
from veritasest.agent.values.operators import COUNTED, Operator, describe
from veritasest.agent.values.policy import Policy
from veritasest.agent.values.reads import Reads

NAMESPACES = ("aten::", "torchvision::")

# From this version on a tensor that has a Python object counts one use more, for which autograd would clone gradients
# that it could keep: c10/util/intrusive_ptr.h, "PyObject preservation".
PYTHON_OBJECT_IS_A_USE = (2, 11)

Kernel = Callable[..., Any]


class Engine:
    """`everywhere`: all operators are computed, whatever they cost. `modules`: only while `in_module` is on."""

    def __init__(
        self,
        *,
        torch: Any,
        contents: Contents,
        device: Device,
        policy: Policy,
        reads: Reads,
        computer: Computer,
        everywhere: bool = False,
        modules: bool = False,
    ) -> None:
        self._torch = torch
        self._contents = contents
        self._device = device
        self._policy = policy
        self._reads = reads
        self._computer = computer
        self._assumer = Assumer(torch, contents, computer, policy)
        self._everywhere = everywhere
        self._heavy_too = everywhere or modules
        self._thread = _Thread()
        self._libraries: dict[str, Any] = {}
        self._watched: set[str] = set()
        self._task = torch._C._current_graph_task_id
        version = tuple(int(word) for word in torch.__version__.split(".")[:2])
        self._uncount = torch._C._add_cached_tensor if version >= PYTHON_OBJECT_IS_A_USE else None

    @property
    def _all(self) -> bool:
        """Whether the calling thread is where everything is computed."""
        return self._everywhere or self._thread.in_module

    def in_module(self, inside: bool) -> None:
        self._thread.in_module = inside

    # Installing

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
                    self._replace(name)

    def _replace(self, name: str) -> None:
        operator = describe(self._torch, name)
        if operator is None:
            return
        ours = self._kernel_for(operator, self._torch.library.get_kernel(name, "CUDA").call_boxed)
        if ours is None:
            return
        namespace, _, rest = name.partition("::")
        if namespace not in self._libraries:
            self._libraries[namespace] = self._torch.library.Library(namespace, "IMPL")
        self._libraries[namespace].impl(rest, ours, "CUDA", with_keyset=True, allow_override=True)

    def _kernel_for(self, operator: Operator, original: Kernel) -> Kernel | None:
        if operator.name == "aten::_local_scalar_dense":
            return self._reader(operator, original)
        if operator.name == "aten::copy_":
            return self._copier(operator, original)
        if operator.name == "aten::_amp_foreach_non_finite_check_and_unscale_" and not self._everywhere:
            return self._overflow_check(operator, original)
        if operator.name in COUNTED:
            return self._counter(operator, original)
        if self._heavy_too or not operator.heavy:
            return self._plain(operator, original)
        return self._forgetter(operator, original) if operator.written else None

    # Kernels

    def _plain(self, operator: Operator, original: Kernel) -> Kernel:
        def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
            args = self._computer.with_tensors(operator, args)
            state = self._state(operator, args, kwargs)
            if state == UNKNOWN and (self._all or (operator.control and not self._policy.decides(operator.base))):
                state = self._assume_inputs(operator, args, kwargs)
            if state == UNKNOWN:
                return self._unknown(operator, original, keys, args, kwargs)
            if operator.written:
                return self._change(operator, original, keys, args, kwargs, state)
            outcome = Outcome()
            if not self._thread.in_whole:  # before the kernel, which may move its arguments
                outcome = self._computer.run(operator, args, kwargs, self._computer.seed(operator, args, kwargs))
            with self._thread.inside(whole=operator.heavy):
                out = original(keys, *args, **kwargs)
            if outcome.done and (self._everywhere or self._task() == -1 or not _is_float(self._torch, out)):
                self._computer.write(out, outcome.result, state)
            return self._gradient(operator, out)

        return run

    def _unknown(self, operator: Operator, original: Kernel, keys: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        self._forget(operator, args, kwargs)
        out = original(keys, *args, **kwargs)
        if operator.decides and not operator.written:
            self._assumer.outcome(operator, args, out)
        return self._gradient(operator, out)

    def _change(
        self, operator: Operator, original: Kernel, keys: Any, args: tuple[Any, ...], kwargs: Any, state: int
    ) -> Any:
        """An operator that writes to its arguments: computed when the kernel, and all that it calls, has finished."""
        seed = self._computer.seed(operator, args, kwargs)
        with self._thread.inside(whole=True):
            out = original(keys, *args, **kwargs)
        if self._thread.in_whole:
            return out
        written = [tensor for place in operator.written for tensor in _listed(_at(place, args, kwargs))]
        written = [tensor for tensor in written if tensor is not None and tensor.is_cuda]
        granted = all(self._contents.claim(tensor) for tensor in written)
        if not granted or not self._computer.run(operator, args, kwargs, seed).done:
            state = UNKNOWN
        for tensor in written:
            self._contents.remember(tensor, state)
        return out

    def _forgetter(self, operator: Operator, original: Kernel) -> Kernel:
        """For mathematics that writes in place: what it wrote to is unknown from now on."""

        def run(keys: Any, *args: Any, **kwargs: Any) -> Any:
            self._forget(operator, args, kwargs)
            return original(keys, *args, **kwargs)

        return run

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
            return self._policy.scalar(place) if state == UNKNOWN and isinstance(value, float) else value

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
            out = original(keys, to, source, *rest)
            self._arrived(to, source)
            return out

        return run

    def _arrived(self, to: Any, source: Any) -> None:
        """From the host: the device did a plain copy for real; one that also converts is done here."""
        if to.numel() > limit(to) and not self._heavy_too:
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

    # Which inputs are known

    def _state(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        """That of the least known input; UNKNOWN also when there is too much to compute."""
        if self._everywhere:
            return REAL
        worst, elements, floats, on_device, unbounded = REAL, 0, False, False, self._thread.in_module
        for place, tensor in _tensors(self._torch, args, kwargs):
            if not tensor.is_cuda:
                continue
            on_device = True
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
        undone = not unbounded and (operator.heavy or (operator.random and floats and elements > RANDOM_LIMIT))
        return worst if on_device and not undone else UNKNOWN

    def _assume_inputs(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        for place, tensor in _tensors(self._torch, args, kwargs):
            if not tensor.is_cuda or place in operator.outputs_only or not tensor.numel():
                continue
            if self._contents.state(tensor) == UNKNOWN and not self._assumer.tensor(tensor, bounded=not self._all):
                return UNKNOWN
        return self._state(operator, args, kwargs)

    def _forget(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for place in operator.written:
            for tensor in _listed(_at(place, args, kwargs)):
                if tensor is not None and tensor.is_cuda:
                    self._contents.forget(tensor)

    def _gradient(self, operator: Operator, out: Any) -> Any:
        """In the backward pass: the Python object that the tensor got by passing through here is no use of it."""
        if self._uncount is not None and not operator.written and self._task() != -1:
            for tensor in _listed(out):
                if self._torch.is_tensor(tensor):
                    self._uncount(tensor)
        return out


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


def _tensors(torch: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[int | str, Any]]:
    is_tensor = torch.is_tensor
    for place, value in enumerate(args):
        if is_tensor(value):
            yield place, value
        elif isinstance(value, (list, tuple)):
            for item in value:
                if is_tensor(item):
                    yield place, item
    for name, value in kwargs.items():
        for item in _listed(value):
            if is_tensor(item):
                yield name, item


def _listed(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else (value,)


def _at(place: int | str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if isinstance(place, str):
        return kwargs.get(place)
    return args[place] if place < len(args) else None


def _is_float(torch: Any, out: Any) -> bool:
    return all(torch.is_tensor(tensor) and tensor.dtype.is_floating_point for tensor in _listed(out))


def _count(operator: Operator, args: tuple[Any, ...], result: Any) -> int:
    """How many the operator found: the size of its first output, along the dimension it worked on."""
    first = result[0] if isinstance(result, tuple) else result
    along = args[1] if operator.base in ("unique_dim", "unique_dim_consecutive") else 0
    return int(first.shape[along])
