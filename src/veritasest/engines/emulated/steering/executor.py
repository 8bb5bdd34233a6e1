"""Runs an operator on the CPU, in device memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from veritasest.engines.emulated.steering.assumed.policy import AssumptionPolicy
from veritasest.engines.emulated.steering.memory.state import UNKNOWN, ValueState
from veritasest.engines.emulated.steering.memory.tracker import ValueTracker
from veritasest.engines.emulated.steering.operators import Operator
from veritasest.engines.emulated.steering.random.cuda_random import CudaRandom, GeneratorState

_NUMBERS = (bool, int, float, complex)


@dataclass(frozen=True)
class Outcome:
    """What the CPU computed for an operator. `done` is false if it could not."""

    result: Any = None
    done: bool = False


class CpuExecutor:
    """`on_failure(operator name, error)` is called for operators that the CPU could not compute."""

    def __init__(
        self,
        torch: Any,
        tracker: ValueTracker,
        policy: AssumptionPolicy,
        on_failure: Callable[[str, Exception], None],
    ) -> None:
        self._torch = torch
        self._tracker = tracker
        self._policy = policy
        self._on_failure = on_failure
        self._random = CudaRandom(torch)

    def with_tensors(self, operator: Operator, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The dispatcher unwraps a number in a tensor's place (`x + 1`) for Python, and does not take it back: a
        zero-dimensional tensor of the type that the number would get does the same."""
        if not any(type(args[i]) in _NUMBERS for i in operator.tensors if i < len(args)):
            return args
        torch = self._torch
        others = [args[i] for i in operator.tensors if i < len(args) and args[i] is not None]
        others = others[1:] if operator.base == "where" else others  # its condition does not affect the result's type
        tensors = [other for other in others if torch.is_tensor(other)]
        lifted = list(args)
        for i in operator.tensors:
            if i < len(args) and type(args[i]) in _NUMBERS:
                lifted[i] = self._scalar(args[i], tensors[0] if tensors else args[i])
        return tuple(lifted)

    def _scalar(self, number: Any, other: Any) -> Any:
        """A number keeps the full width it has in Python, unless that would widen the result."""
        torch = self._torch
        wide = torch.tensor(number, dtype=torch.float64 if isinstance(number, float) else None, device="cpu")
        dtype = torch.result_type(other, number)
        if not torch.is_tensor(other) or torch.result_type(other, wide) != dtype:
            wide = wide.to(dtype)
        return wide

    def generator_state(
        self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> GeneratorState | None:
        """The state of the operator's random generator, if it has one; to be asked before the operator runs."""
        is_random = operator.is_random or operator.base == "native_dropout"
        return self._random.state(args, kwargs) if is_random else None

    def run(
        self,
        operator: Operator,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        state: GeneratorState | None = None,
    ) -> Outcome:
        """The operator's result as CPU tensors; arguments that it writes to are changed in device memory."""
        cpu_args = [self._on_cpu(value) for value in args]
        cpu_kwargs = {key: self._on_cpu(value) for key, value in kwargs.items()}
        try:
            result = self._random.numbers(operator, cpu_args, cpu_kwargs, state) if state is not None else None
            if result is None:
                result = _run(operator, cpu_args, self._with_generator(operator, cpu_args, cpu_kwargs, state))
            return Outcome(result, done=True)
        except Exception as error:  # whatever it is, the value stays unknown
            self._on_failure(operator.name, error)
            return Outcome()

    def _with_generator(
        self, operator: Operator, args: list[Any], kwargs: dict[str, Any], state: GeneratorState | None
    ) -> dict[str, Any]:
        """Where the GPU's numbers cannot be reproduced: other numbers, but always the same."""
        if state is None:
            return kwargs
        self._policy.generator_for(operator.base, state)
        is_given = any(value is self._policy.generator for value in args)
        return kwargs if is_given or not operator.is_random else {**kwargs, "generator": self._policy.generator}

    def _on_cpu(self, value: Any) -> Any:
        torch = self._torch
        if torch.is_tensor(value):
            return self._tracker.view(value) if value.is_cuda else value
        if isinstance(value, (list, tuple)):
            return [self._on_cpu(item) for item in value]
        if isinstance(value, torch.Generator):
            return self._policy.generator
        return torch.device("cpu") if isinstance(value, torch.device) else value

    def write(self, out: Any, result: Any, state: ValueState) -> None:
        """The result's values into the tensors that the CUDA kernel made."""
        for to, source in _pairs(out, result):
            if not self._torch.is_tensor(to):
                continue
            fits = self._torch.is_tensor(source) and source.shape == to.shape
            if not to.is_cuda:  # a kernel may leave numbers on the host, such as a random state
                if fits:
                    to.copy_(source)
            elif fits:
                self.put(to, source, state, fresh=True)
            else:
                self._tracker.remember(to, UNKNOWN)

    def put(self, tensor: Any, values: Any, state: ValueState, *, fresh: bool = False) -> bool:
        """Values into device memory; False if the host may not back so much."""
        if not self._tracker.claim(tensor):
            self._tracker.forget(tensor)
            return False
        if tensor.numel():
            self._tracker.view(tensor).copy_(values)
        self._tracker.remember(tensor, state, fresh=fresh)
        return True


def _run(operator: Operator, args: list[Any], kwargs: dict[str, Any]) -> Any:
    # Imported only here: most jobs need no translation, and building the table takes 0.1 s.
    if operator.needs_translation:
        from veritasest.engines.emulated.steering.translations import TRANSLATIONS

        return TRANSLATIONS.get(operator.name, operator.overload)(*args, **kwargs)
    try:
        return operator.overload(*args, **kwargs)
    except NotImplementedError:  # not for this type, mostly half precision
        from veritasest.engines.emulated.steering.translations import TRANSLATIONS, widened

        return TRANSLATIONS.get(operator.name, widened(operator.name))(*args, **kwargs)


def _pairs(out: Any, result: Any) -> Iterator[tuple[Any, Any]]:
    """Pairs of tensors in the same place, in nested lists as well."""
    if isinstance(out, (list, tuple)):
        results = result if isinstance(result, (list, tuple)) else [None] * len(out)
        for one, other in zip(out, results, strict=False):
            yield from _pairs(one, other)
    else:
        yield out, result[0] if isinstance(result, tuple) and len(result) == 1 else result
