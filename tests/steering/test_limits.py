"""How much is computed: the documented limits, and the bound on products."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from veritasest.engines.emulated.steering import limits

README = Path(__file__).parents[2] / "src/veritasest/engines/emulated/steering/README.md"


def test_the_readme_has_the_limits_of_the_code() -> None:
    documented = re.findall(r"\| (\d+) Mi[^|]*\| `limits\.py` `(\w+)`", README.read_text())
    assert {name: int(number) << 20 for number, name in documented} == {
        name: value for name, value in vars(limits).items() if name.endswith("_LIMIT")
    }


@pytest.mark.parametrize(
    ("left", "right", "trainable", "is_small"),
    [
        ((64, 64), (64, 64), False, True),
        ((64, 64), (64, 64), True, False),
        ((1 << 13, 1 << 7), (1 << 7, 1 << 7), False, True),  # 2**20 elements by 2**7 columns: at the limit
        ((1 << 13, 1 << 7), (1 << 7, 1 << 8), False, False),
    ],
)
def test_products_are_small_without_trainable_inputs_and_within_the_limit(
    left: tuple[int, int], right: tuple[int, int], trainable: bool, is_small: bool
) -> None:
    factors = (torch.empty(left), torch.empty(right, requires_grad=trainable))
    assert limits.is_small_product(torch, factors) is is_small
