"""Random operators: the numbers that the GPU's generator would give them, where the rule is known."""

from __future__ import annotations

from typing import Any

from veritasest.engines.emulated.steering.operators import Operator
from veritasest.engines.emulated.steering.random import Target, draw
from veritasest.engines.emulated.steering.random.layout import Source

GeneratorState = tuple[int, int]  # seed and offset

_HALF = ("float16", "bfloat16")


class CudaRandom:
    def __init__(self, torch: Any) -> None:
        self._torch = torch
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        self._sms: int = properties.multi_processor_count
        self._threads_per_sm: int = properties.max_threads_per_multi_processor

    def state(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> GeneratorState:
        """The state of the operator's generator, to be asked before the operator advances it. The same state gives the
        same numbers, so a recomputed forward pass agrees with the first."""
        torch = self._torch
        given = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Generator)]
        generator = given[0] if given else torch.cuda.default_generators[torch.cuda.current_device()]
        return generator.initial_seed(), generator.get_offset()

    def numbers(self, operator: Operator, args: list[Any], kwargs: dict[str, Any], state: GeneratorState) -> Any:
        """The operator's result, given its arguments on the CPU: written to the argument it fills, or returned. None if
        the rule is not known."""
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

    def _draw(self, operator: Operator, filled: Any, given: dict[str, Any], state: GeneratorState) -> Any:
        others = {name: value for name, value in given.items() if name not in ("self", "out", "generator")}
        source = Source(
            torch=self._torch,
            seed=state[0] % (1 << 64),
            offset=state[1],
            sms=self._sms,
            threads_per_sm=self._threads_per_sm,
        )
        target = Target(shape=filled.shape, dtype=filled.dtype, strides=filled.stride(), address=filled.data_ptr())
        return draw(operator.name, source, target, others)

    def _dropout(self, operator: Operator, given: dict[str, Any], state: GeneratorState) -> Any:
        source, share = given["input"], given["p"]
        if given.get("train") is False or not 0 < share < 1:
            return None
        mask = self._draw(operator, source, {"p": share}, state)
        return None if mask is None else (source * mask / (1 - share), mask)


def _is_rounded(given: dict[str, Any]) -> bool:
    """Choices with replacement compare with running sums; in half precision the recorded ones came out differently."""
    return bool(given.get("replacement")) and str(given["self"].dtype).removeprefix("torch.") in _HALF
