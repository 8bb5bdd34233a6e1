"""The JSON of an estimate is frozen: estimate_schema2.json has every field with its type.

A field may be added there; removing or changing one needs a new `schema_version`.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Union

import pytest

from veritasest import api
from veritasest.errors import UnsupportedEnvironment
from veritasest.spec.estimate import SCHEMA_VERSION, Estimate, Peak

FROZEN = Path(__file__).with_name(f"estimate_schema{SCHEMA_VERSION}.json")
NOT_IN_JSON = {(Estimate, "recording")}
PLAIN = {int: "integer", float: "number", str: "text", bool: "boolean", type(None): "null"}


def described(hint: Any) -> Any:
    """A type hint as what json.dumps() writes for it."""
    if hint in PLAIN:
        return PLAIN[hint]
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        names = [field.name for field in dataclasses.fields(hint) if (hint, field.name) not in NOT_IN_JSON]
        return {name: described(hints[name]) for name in names}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return " | ".join(sorted(member.value for member in hint))
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        options = [described(argument) for argument in arguments]
        return options[0] if len(options) == 1 else {"one of": options}
    if origin is tuple and arguments[1:] == (...,):
        return [described(arguments[0]), "..."]
    if origin is tuple:
        return [described(argument) for argument in arguments]
    if origin is Mapping:
        return "object"
    raise TypeError(f"not described: {hint!r}")


def test_the_fields_and_their_types_are_frozen() -> None:
    assert described(Estimate) == json.loads(FROZEN.read_text())


@pytest.fixture(scope="module")
def unsupported() -> dict[str, Any]:
    error = UnsupportedEnvironment("no PyTorch", "install it")
    return api.unsupported(error, ["train.py"], {"gpu": "t4", "memory": "8GiB"}).to_dict()


def test_unsupported_has_the_fields_of_every_other_verdict(unsupported: dict[str, Any]) -> None:
    frozen = json.loads(FROZEN.read_text())
    assert list(unsupported) == list(frozen)
    assert list(unsupported["provenance"]) == list(frozen["provenance"])
    assert (unsupported["verdict"], unsupported["schema_version"]) == ("unsupported", SCHEMA_VERSION)
    assert (unsupported["gpu"]["capacity_bytes"], unsupported["ranks"], unsupported["runs"]) == (8 << 30, [], [])
    assert unsupported["failure"]["message"] == "no PyTorch"
    assert unsupported["failure"]["hint"] == "install it"


def test_an_estimate_without_a_run_still_answers_for_its_worst_rank() -> None:
    found = api.unsupported(UnsupportedEnvironment("no PyTorch"), ["train.py"], {})
    assert found.peak == Peak(allocated_bytes=None, reserved_bytes=0, step=0)
    assert found.needs.unconstrained_bytes is None


EVERYTHING = """
write(Assumed(how="size", operator="nonzero", file="train.py", line=3, code="x[mask]", value=7, dtype="bool"))
write(Assumed(how="number", operator="item", file="train.py", line=4, code="loss.item()", value=0.5, dtype="float32"))
write(Unmodelled(library="cufft", name="plan", how="bounded", file="train.py", line=5))
write(DeferredFree())
job.start(rank=0)
size = (6 if job.run.choices or job.run.guesses or job.run.events is EventTiming.LATE else 5) << 30
write(Blocks(device=0, step=0, actions="a", addresses=(1,), sizes=(size,)))
job.reserve(min(size, limit))
if limit < size:
    job.run_out_of_memory(2 << 20)
job.step(1, 4 << 30)
write(NotReached(what="test()", file="train.py", line=9))
write(Observed(steps=1, evaluations=1))
job.end("steps")
"""


@pytest.mark.parametrize("memory", [None, "4GiB"])
def test_what_is_written_has_the_frozen_types(
    job: Callable[[str], Path], unsupported: dict[str, Any], memory: str | None
) -> None:
    job(EVERYTHING)
    found = api.estimate(["train.py"], gpu="h200", memory=memory, steps=1, minimum=True).to_dict()
    assert found["verdict"] == ("fits" if memory is None else "does_not_fit")
    assert all(found[name] for name in ("ranks", "assumed", "not_modelled", "not_reached", "runs", "files"))
    frozen = json.loads(FROZEN.read_text())
    assert wrong(json.loads(json.dumps(found)), frozen) == wrong(unsupported, frozen) == []


def wrong(value: Any, schema: Any, path: str = "") -> list[str]:
    """The places where a document does not follow the schema."""
    if isinstance(schema, dict) and set(schema) == {"one of"}:
        return [] if any(not wrong(value, option, path) for option in schema["one of"]) else [path]
    if isinstance(schema, dict):
        if not isinstance(value, dict) or set(value) != set(schema):
            return [path]
        return [found for name, inner in schema.items() for found in wrong(value[name], inner, f"{path}.{name}")]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [path]
        inner = [schema[0]] * len(value) if schema[1:] == ["..."] else schema
        pairs = zip(value, inner, strict=True)
        return [found for number, (item, kind) in enumerate(pairs) for found in wrong(item, kind, f"{path}[{number}]")]
    if schema == "object":
        return [] if isinstance(value, dict) else [path]
    kinds = {"integer": int, "number": (int, float), "text": str, "boolean": bool, "null": type(None)}
    if schema in kinds:
        fits = isinstance(value, kinds[schema]) and (schema == "boolean" or not isinstance(value, bool))
        return [] if fits else [path]
    return [] if value in schema.split(" | ") else [path]
