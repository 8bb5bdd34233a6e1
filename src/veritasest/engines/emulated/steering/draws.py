"""Random operators: the very numbers that the GPU's generator would give them, where the rule is known."""

from __future__ import annotations

from typing import Any

from veritasest.engines.emulated.steering.operators import Operator
from veritasest.engines.emulated.steering.random import draw

_HALF = ("float16", "bfloat16")


class Draws:
    def __init__(self, torch: Any) -> None:
        self._torch = torch
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        self._sms: int = properties.multi_processor_count
        self._threads_per_sm: int = properties.max_threads_per_multi_processor

    def state(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, int]:
        """Where the operator's generator stands: seed and offset. To be asked before the operator moves it on; the same
        state gives the same numbers, so that a recomputed forward pass agrees with the first."""
        torch = self._torch
        given = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Generator)]
        generator = given[0] if given else torch.cuda.default_generators[torch.cuda.current_device()]
        return generator.initial_seed(), generator.get_offset()

    def numbers(self, operator: Operator, args: list[Any], kwargs: dict[str, Any], state: tuple[int, int]) -> Any:
        """The operator's result, given its arguments on the CPU: written to the argument it fills, or returned. None
        when the rule is not known."""
        names = [argument.name for argument in operator.overload._schema.arguments]
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if operator.base == "native_dropout":
            return self._dropout(operator, given, state)
        if operator.base == "multinomial" and _is_rounded(given):
            return None
        filled = given["out"] if "out" in given else given["self"]
        if operator.base in ("bernoulli", "multinomial"):
            given["probabilities"] = given.get("p") if "p" in given and operator.written else given["self"]
        drawn = self._draw(operator, filled, given, state)
        if drawn is None or not operator.written:
            return drawn
        return filled.copy_(drawn.view(filled.shape))

    def _draw(self, operator: Operator, filled: Any, given: dict[str, Any], state: tuple[int, int]) -> Any:
        others = {name: value for name, value in given.items() if name not in ("self", "out", "generator")}
        return draw(
            self._torch,
            operator.name,
            filled.shape,
            filled.dtype,
            state[0],
            state[1],
            sms=self._sms,
            threads_per_sm=self._threads_per_sm,
            strides=filled.stride(),
            address=filled.data_ptr(),
            **others,
        )

    def _dropout(self, operator: Operator, given: dict[str, Any], state: tuple[int, int]) -> Any:
        source, share = given["input"], given["p"]
        if given.get("train") is False or not 0 < share < 1:
            return None
        mask = self._draw(operator, source, {"p": share}, state)
        return None if mask is None else (source * mask / (1 - share), mask)


def _is_rounded(given: dict[str, Any]) -> bool:
    """Choices with replacement compare with running sums; in half precision the recorded ones came out otherwise."""
    return bool(given.get("replacement")) and str(given["self"].dtype).removeprefix("torch.") in _HALF
