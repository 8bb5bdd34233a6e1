"""Dataclasses as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from veritasest.gpus import find
from veritasest.spec.codec import from_plain, to_plain
from veritasest.spec.enums import EndReason, Verdict
from veritasest.spec.run import RunSpec
from veritasest.spec.stop import StopRule


@dataclass(frozen=True, kw_only=True)
class Small:
    required: int
    verdict: Verdict = Verdict.FITS
    rules: tuple[StopRule, ...] = ()


def test_enums_and_nested_records_are_plain_in_json() -> None:
    text = json.dumps(to_plain(Small(required=1, rules=(StopRule(steps=2),))))
    assert json.loads(text) == {
        "required": 1,
        "verdict": "fits",
        "rules": [{"steps": 2, "until_exit": False, "budget_s": None, "forward_from": None, "leave_from": None}],
    }


def test_missing_fields_take_their_defaults() -> None:
    assert from_plain(Small, {"required": 1}) == Small(required=1)


def test_a_missing_field_without_a_default_is_an_error() -> None:
    with pytest.raises(TypeError, match="required"):
        from_plain(Small, {})


def test_a_value_that_the_enum_does_not_have_is_an_error() -> None:
    with pytest.raises(ValueError, match="maybe"):
        from_plain(Small, {"required": 1, "verdict": "maybe"})


def test_a_run_with_its_gpu_is_read_as_it_was_written() -> None:
    run = RunSpec(gpu=find("t4").with_memory(8 << 30), limit_bytes=7, stop=StopRule(steps=3))
    assert from_plain(RunSpec, json.loads(json.dumps(to_plain(run)))) == run


def test_members_of_enums_read_as_their_text() -> None:
    assert f"{EndReason.SETTLED} {Verdict.DOES_NOT_FIT:>14}" == "settled   does_not_fit"
    assert Verdict.FITS == "fits"
