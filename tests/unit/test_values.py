"""What unknown values are taken for, as the user has it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from veritasest.engines.emulated.steering.policy import FALL, PATIENCE_ANSWERS, PATIENCE_READS, Assumptions, Policy
from veritasest.errors import UsageError
from veritasest.spec.values import checked_values


def policy(text: str = "", choices: str | None = None) -> Policy:
    return Policy(torch, Assumptions.parse(text).at_bound(choices))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3))
def test_the_same_question_gets_the_same_answer_and_the_jobs_generator_is_left_alone(size: list[int]) -> None:
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


def test_unknown_masks_have_the_share_that_is_assumed() -> None:
    assert 0.45 < policy().mask((1000,)).float().mean() < 0.55
    assert 0.2 < policy("mask=0.25").data((1000,), torch.bool).float().mean() < 0.3
    assert [bool(policy(f"mask={share}").mask((99,)).any()) for share in (0, 1)] == [False, True]
    assert policy("mask=1").mask((99,)).all()


def test_only_an_assumed_share_decides_comparisons_by_itself() -> None:
    assert [policy(text).decides("gt") for text in ("", "mask=0.5")] == [False, True]
    assert not policy("mask=0.5").decides("isnan")


def test_unknown_integers_are_zeros_and_unknown_positions_lie_within_their_dimension() -> None:
    assert policy().data((3,), torch.int64).tolist() == [0, 0, 0]
    positions = policy().indices((1000,), 7, torch.int32)
    assert (positions.dtype, set(positions.tolist())) == (torch.int32, set(range(7)))
    assert policy().indices((2,), 0, torch.int64).tolist() == [0, 0]


def test_a_number_that_is_read_again_and_again_in_one_place_becomes_small() -> None:
    asked = policy("scalar=0.25")
    told = [asked.told(asked.scalar(), "train.py:7") for _ in range(PATIENCE_READS + 3)]
    last = told[PATIENCE_READS - 1]
    assert told[0] == 0.25
    assert last == pytest.approx(0.25 * (1 - FALL) ** (PATIENCE_READS - 1))
    assert told[PATIENCE_READS:] == pytest.approx([last / 2, last / 4, last / 8], rel=4 * FALL)
    assert all(later < earlier for earlier, later in itertools.pairwise(told))
    assert asked.told(asked.scalar(), "train.py:8") == 0.25
    assert min(asked.told(0.25, "train.py:7") for _ in range(2000)) >= 0


def test_a_count_is_told_as_it_is_however_often() -> None:
    asked = policy()
    assert [asked.told(128.0, "train.py:7") for _ in range(3)] == [128.0] * 3


def test_an_optimizer_that_asks_whether_it_still_goes_down_hears_that_it_does() -> None:
    asked = policy()
    asker = ("/somewhere/torch/optim/lbfgs.py", "            if gtd > -tolerance_change:")
    assert asked.decision(True, "train.py:7", asker) is False
    assert asked.decision(True, "train.py:7", ("train.py", asker[1])) is True


def test_a_loop_that_waits_for_a_decision_gets_it_but_a_check_in_every_step_does_not() -> None:
    asked = policy()
    told = [asked.decision(False, "train.py:7") for _ in range(PATIENCE_ANSWERS)]
    assert told[-1] is True
    assert not any(told[:-1])
    for _ in range(PATIENCE_ANSWERS):
        assert asked.decision(True, "train.py:9") is True
        asked.on_step()


def test_numbers_that_are_not_finite_show_in_every_tensor() -> None:
    assert policy("finite=no").data((3, 4), torch.float32).isinf().any()
    assert policy("finite=no").data((), torch.float32).item() == float("inf")


def test_at_their_bounds_choices_take_nothing_or_everything_and_all_the_same() -> None:
    assert not policy(choices="none").mask((99,)).any()
    assert policy("mask=0.1", choices="all").mask((99,)).all()
    rows = policy(choices="all").data((50, 8), torch.float32)
    assert torch.equal(rows, rows[:1].expand(50, 8))
    assert Assumptions().at_bound(None) == Assumptions()


@given(
    mask=st.none() | st.floats(0, 1),
    scalar=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    finite=st.none() | st.booleans(),
)
def test_what_the_user_assumes_is_what_the_agent_reads(
    mask: float | None, scalar: float | None, finite: bool | None
) -> None:
    given_ = {"mask": mask, "scalar": scalar, "finite": finite}
    named = {kind: value for kind, value in given_.items() if value is not None}
    environment = checked_values("auto", named, None).environment()
    assert Assumptions.parse(environment.get("VERITASEST_ASSUME", "")) == Assumptions(**named)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mode", "assume", "match"),
    [
        ("reel", {}, "no such choice of values: 'reel'"),
        ("real:", {}, "no such choice of values: 'real:'"),
        ("auto:encoder", {}, "no such choice"),
        ("auto", {"mask": 1.5}, "cannot assume mask=1.5"),
        ("auto", {"mask": "nan"}, "cannot assume mask=nan"),
        ("auto", {"mask": "half"}, "mask=half is no number"),
        ("auto", {"mask": None}, "mask=None is no number"),
        ("auto", {"scalar": float("nan")}, "cannot assume scalar=nan"),
        ("auto", {"finite": "maybe"}, "finite must be yes or no, not 'maybe'"),
        ("auto", {"speed": 3}, "cannot assume speed=3"),
    ],
)
def test_what_cannot_be_assumed_is_refused(mode: str, assume: dict[str, Any], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        checked_values(mode, assume, None)


def test_a_limit_on_host_memory_goes_with_real_values_only() -> None:
    assert "VERITASEST_HOST_MEMORY" not in checked_values("auto", {}, None).environment()
    assert checked_values("real:head", {}, 5).environment()["VERITASEST_HOST_MEMORY"] == "5"
    assert (checked_values("real", {}, None).host_bytes or 0) > 1 << 20
    with pytest.raises(UsageError, match="limited for real values, not for 'auto'"):
        checked_values("auto", {}, 5)
    for wrong in (0, -5):
        with pytest.raises(UsageError, match=f"above zero, not {wrong}"):
            checked_values("real", {}, wrong)
