"""Looks up what an operator is: its class from the table, the rest from its schema."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from veritasest.engines.emulated.steering.operators import table
from veritasest.engines.emulated.steering.operators.classes import OperatorClass

_MODEL_CLASSES = (OperatorClass.MODEL, OperatorClass.GEOMETRY, OperatorClass.UNCLASSIFIED)


@dataclass(frozen=True, kw_only=True)
class Operator:
    """One overload of an operator.

    - `base`: the name without namespace, overload and trailing underscore.
    - `is_model`: left out unless all values are computed; `is_geometry`: computed nevertheless when its work is small.
    - `is_decision`: unknown inputs are assumed; `has_assumable_result`: where they are too large, the result is.
    - `needs_translation`: the CPU has no kernel for it, or one that gives something else: see `translations/`.
    - `is_random`: draws from a generator.
    - `written`: positions and names of the arguments it writes to; `outputs_only`: those of them that it never reads;
      `inserts`: it leaves the rest of what it writes to unchanged.
    - `tensors`: positions that take a tensor, where PyTorch hands Python a plain number for a wrapped one.
    """

    name: str
    overload: Any
    base: str
    kind: OperatorClass
    is_model: bool
    is_geometry: bool
    is_decision: bool
    has_assumable_result: bool
    needs_translation: bool
    is_random: bool
    inserts: bool
    written: tuple[int | str, ...]
    outputs_only: tuple[int | str, ...]
    tensors: tuple[int, ...]


def classify(name: str) -> OperatorClass:
    """The class of "aten::add.Tensor"."""
    if name in table.OVERLOADS:
        return table.OVERLOADS[name]
    base = name.partition("::")[2].partition(".")[0]
    without_underscore = base.rstrip("_")
    names = _names()
    found = names.get(base) or names.get(without_underscore)
    if found is not None:
        return found
    for kind, family in _families():
        if family.match(without_underscore):
            return kind
    return OperatorClass.UNCLASSIFIED


@cache
def _names() -> dict[str, OperatorClass]:
    return {name: kind for kind, text in table.NAMES for name in text.split()}


@cache
def _families() -> tuple[tuple[OperatorClass, re.Pattern[str]], ...]:
    return tuple((kind, re.compile("|".join(map(fnmatch.translate, text.split())))) for kind, text in table.FAMILIES)


def describe(torch: Any, name: str) -> Operator | None:
    """All there is to know about "aten::add.Tensor"; None if it only handles memory and needs no watching."""
    kind = classify(name)
    if kind is OperatorClass.MEMORY:
        return None
    namespace, _, rest = name.partition("::")
    base, _, overload_name = rest.partition(".")
    base = base.rstrip("_") or base
    overload = getattr(getattr(getattr(torch.ops, namespace), rest.partition(".")[0]), overload_name or "default")
    arguments = overload._schema.arguments
    written, outputs_only = _written(arguments, base in table.OVERWRITES)
    is_model = kind in _MODEL_CLASSES
    is_decision = kind is OperatorClass.DECISION
    return Operator(
        name=name,
        overload=overload,
        base=base,
        kind=kind,
        is_model=is_model,
        is_geometry=kind is OperatorClass.GEOMETRY,
        is_decision=is_decision,
        has_assumable_result=is_decision or base in table.COMBINES_MASKS,
        needs_translation=is_model or not torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU"),
        is_random=any("Generator" in str(argument.type) for argument in arguments),
        inserts=bool(written) and base in table.INSERTS,
        written=written,
        outputs_only=outputs_only,
        tensors=tuple(
            i for i, a in enumerate(arguments) if str(a.type) in ("Tensor", "Optional[Tensor]") and not a.kwarg_only
        ),
    )


def _written(arguments: Any, overwrites: bool) -> tuple[tuple[int | str, ...], tuple[int | str, ...]]:
    """Which arguments are written to, and which of them are never read."""
    written: list[int | str] = []
    outputs_only: list[int | str] = []
    for position, argument in enumerate(arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        place: int | str = argument.name if argument.kwarg_only else position
        written.append(place)
        if argument.kwarg_only or overwrites:
            outputs_only.append(place)
    return tuple(written), tuple(outputs_only)
