"""What unknown values are assumed to be."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from veritasest.engines.emulated.steering.assumed.policy import (
    DECREASE,
    READS_UNTIL_FLIPPED,
    READS_UNTIL_HALVED,
    AssumptionPolicy,
)
from veritasest.engines.emulated.steering.settings import SteeringSettings
from veritasest.spec.enums import Choices


def policy(**settings: Any) -> AssumptionPolicy:
    return AssumptionPolicy(torch, SteeringSettings(mode="auto", **settings))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3))
def test_the_same_question_gets_the_same_answer_without_using_the_jobs_generator(size: list[int]) -> None:
    before = torch.get_rng_state()
    asked = policy()
    first, again = asked.data(size, torch.float32), asked.data(size, torch.float32)
    assert torch.equal(first, again)
    assert torch.equal(asked.mask(size), policy().mask(size))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_unknown_numbers_are_finite_and_evenly_spread_between_0_and_1(dtype: torch.dtype) -> None:
    numbers = policy().data((100, 100), dtype).double()
    assert 0 <= numbers.min() < 0.01
    assert 0.99 < numbers.max() <= 1
    assert 0.48 < numbers.mean() < 0.52
    chosen = numbers.view(-1, 8).topk(2)[1].flatten().bincount(minlength=8)  # routing, 2 of 8: a quarter each
    assert (chosen / 1250).min() > 0.2
    assert (chosen / 1250).max() < 0.3


def test_unknown_masks_have_the_assumed_fraction() -> None:
    assert 0.45 < policy().mask((1000,)).float().mean() < 0.55
    assert 0.2 < policy(mask=0.25).data((1000,), torch.bool).float().mean() < 0.3
    assert [bool(policy(mask=share).mask((99,)).any()) for share in (0, 1)] == [False, True]
    assert policy(mask=1.0).mask((99,)).all()


def test_only_an_assumed_fraction_replaces_the_result_of_comparisons() -> None:
    assert [policy(mask=mask).assumes_result_of("gt") for mask in (None, 0.5)] == [False, True]
    assert not policy(mask=0.5).assumes_result_of("isnan")


def test_unknown_integers_are_zero_and_unknown_positions_are_within_their_dimension() -> None:
    assert policy().data((3,), torch.int64).tolist() == [0, 0, 0]
    positions = policy().indices((1000,), 7, torch.int32)
    assert (positions.dtype, set(positions.tolist())) == (torch.int32, set(range(7)))
    assert policy().indices((2,), 0, torch.int64).tolist() == [0, 0]


def test_a_number_read_often_at_one_line_becomes_small() -> None:
    asked = policy(scalar=0.25)
    given = [asked.scalar_for(asked.scalar(), "train.py:7") for _ in range(READS_UNTIL_HALVED + 3)]
    last = given[READS_UNTIL_HALVED - 1]
    assert given[0] == 0.25
    assert last == pytest.approx(0.25 * (1 - DECREASE) ** (READS_UNTIL_HALVED - 1))
    assert given[READS_UNTIL_HALVED:] == pytest.approx([last / 2, last / 4, last / 8], rel=4 * DECREASE)
    assert all(later < earlier for earlier, later in itertools.pairwise(given))
    assert asked.scalar_for(asked.scalar(), "train.py:8") == 0.25
    assert min(asked.scalar_for(0.25, "train.py:7") for _ in range(2000)) >= 0


def test_a_count_does_not_change_when_read_again() -> None:
    asked = policy()
    assert [asked.scalar_for(128.0, "train.py:7") for _ in range(3)] == [128.0] * 3


def test_lbfgs_always_finds_a_descent_direction() -> None:
    asked = policy()
    caller = ("/somewhere/torch/optim/lbfgs.py", "            if gtd > -tolerance_change:")
    assert asked.decision_for(True, "train.py:7", caller) is False
    assert asked.decision_for(True, "train.py:7", ("train.py", caller[1])) is True


def test_a_loop_that_waits_for_a_decision_gets_it_but_a_check_in_every_step_does_not() -> None:
    asked = policy()
    given = [asked.decision_for(False, "train.py:7") for _ in range(READS_UNTIL_FLIPPED)]
    assert given[-1] is True
    assert not any(given[:-1])
    for _ in range(READS_UNTIL_FLIPPED):
        assert asked.decision_for(True, "train.py:9") is True
        asked.on_step()


def test_infinite_numbers_appear_in_every_tensor() -> None:
    assert policy(finite=False).data((3, 4), torch.float32).isinf().any()
    assert policy(finite=False).data((), torch.float32).item() == float("inf")


def test_at_their_bounds_choices_select_nothing_or_everything_alike() -> None:
    assert not policy(choices=Choices.NONE).mask((99,)).any()
    assert policy(mask=0.1, choices=Choices.ALL).mask((99,)).all()
    rows = policy(choices=Choices.ALL).data((50, 8), torch.float32)
    assert torch.equal(rows, rows[:1].expand(50, 8))
