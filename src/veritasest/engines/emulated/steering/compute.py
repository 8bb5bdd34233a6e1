"""Runs an operator on the CPU, in device memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from veritasest.engines.emulated.steering.contents import UNKNOWN, Contents
from veritasest.engines.emulated.steering.draws import Draws
from veritasest.engines.emulated.steering.operators import Operator
from veritasest.engines.emulated.steering.policy import Policy

_NUMBERS = (bool, int, float, complex)


@dataclass(frozen=True)
class Outcome:
    """What the CPU made of an operator. `done` is false when it could not."""

    result: Any = None
    done: bool = False


class Computer:
    """`failed(operator name, error)` is told of operators that the CPU could not compute."""

    def __init__(
        self, torch: Any, contents: Contents, policy: Policy, failed: Callable[[str, Exception], None]
    ) -> None:
        self._torch = torch
        self._contents = contents
        self._policy = policy
        self._failed = failed
        self._draws = Draws(torch)

    def with_tensors(self, operator: Operator, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The dispatcher unwraps a number in a tensor's place (`x + 1`) for Python, and does not take it back: a
        zero-dimensional tensor of the type that the number would get does the same."""
        if not any(type(args[i]) in _NUMBERS for i in operator.tensors if i < len(args)):
            return args
        torch = self._torch
        mates = [args[i] for i in operator.tensors if i < len(args) and args[i] is not None]
        mates = mates[1:] if operator.base == "where" else mates  # its condition has no part in the result's type
        tensors = [mate for mate in mates if torch.is_tensor(mate)]
        lifted = list(args)
        for i in operator.tensors:
            if i < len(args) and type(args[i]) in _NUMBERS:
                lifted[i] = self._scalar(args[i], tensors[0] if tensors else args[i])
        return tuple(lifted)

    def _scalar(self, number: Any, mate: Any) -> Any:
        """A number keeps the full width it has in Python, unless that would widen the result."""
        torch = self._torch
        wide = torch.tensor(number, dtype=torch.float64 if isinstance(number, float) else None, device="cpu")
        dtype = torch.result_type(mate, number)
        if not torch.is_tensor(mate) or torch.result_type(mate, wide) != dtype:
            wide = wide.to(dtype)
        return wide

    def seed(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, int] | None:
        """To be asked before the operator runs: where its random generator stands, if it has one."""
        return self._draws.state(args, kwargs) if operator.random or operator.base == "native_dropout" else None

    def run(
        self,
        operator: Operator,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        seed: tuple[int, int] | None = None,
    ) -> Outcome:
        """The operator's result as CPU tensors; written arguments are changed in device memory."""
        cpu_args = [self._on_cpu(value) for value in args]
        cpu_kwargs = {key: self._on_cpu(value) for key, value in kwargs.items()}
        try:
            result = self._draws.numbers(operator, cpu_args, cpu_kwargs, seed) if seed is not None else None
            if result is None:
                result = self._run(operator, cpu_args, self._with_generator(operator, cpu_args, cpu_kwargs, seed))
            return Outcome(result, done=True)
        except Exception as error:  # whatever it is, the value is simply not known
            if os.environ.get("VERITASEST_DEBUG"):
                raise
            self._failed(operator.name, error)
            return Outcome()

    def _with_generator(self, operator: Operator, args: list[Any], kwargs: dict[str, Any], seed: Any) -> dict[str, Any]:
        """Where the GPU's numbers are not known: others, but always the same."""
        if seed is None:
            return kwargs
        self._policy.seeded(operator.base, seed)
        is_given = any(value is self._policy.generator for value in args)
        return kwargs if is_given or not operator.random else {**kwargs, "generator": self._policy.generator}

    def _run(self, operator: Operator, args: list[Any], kwargs: dict[str, Any]) -> Any:
        # Only now: where little is computed, nothing is ever translated, and reading the table takes 0.1 s.
        if operator.foreign:
            from veritasest.engines.emulated.steering.translations import TRANSLATIONS

            return TRANSLATIONS.get(operator.name, operator.overload)(*args, **kwargs)
        try:
            return operator.overload(*args, **kwargs)
        except NotImplementedError:  # not for this type, mostly half precision
            from veritasest.engines.emulated.steering.translations import TRANSLATIONS, widened

            return TRANSLATIONS.get(operator.name, widened(operator.name))(*args, **kwargs)

    def _on_cpu(self, value: Any) -> Any:
        torch = self._torch
        if torch.is_tensor(value):
            return self._contents.view(value) if value.is_cuda else value
        if isinstance(value, (list, tuple)):
            return [self._on_cpu(item) for item in value]
        if isinstance(value, torch.Generator):
            return self._policy.generator
        return torch.device("cpu") if isinstance(value, torch.device) else value

    def write(self, out: Any, result: Any, state: int) -> None:
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
                self._contents.remember(to, UNKNOWN)

    def put(self, tensor: Any, values: Any, state: int, *, fresh: bool = False) -> bool:
        """Values into device memory; False when the host may not back so much."""
        if not self._contents.claim(tensor):
            self._contents.forget(tensor)
            return False
        if tensor.numel():
            self._contents.view(tensor).copy_(values)
        self._contents.remember(tensor, state, fresh=fresh)
        return True


def _pairs(out: Any, result: Any) -> Iterator[tuple[Any, Any]]:
    """Of tensors in the same place, in lists of results too."""
    if isinstance(out, (list, tuple)):
        results = result if isinstance(result, (list, tuple)) else [None] * len(out)
        for one, other in zip(out, results, strict=False):
            yield from _pairs(one, other)
    else:
        yield out, result[0] if isinstance(result, tuple) and len(result) == 1 else result
