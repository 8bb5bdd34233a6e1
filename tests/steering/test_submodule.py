"""Real values in one submodule."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import pytest
import torch

from veritasest.engines.emulated.steering.submodule import SubmoduleWatcher


@pytest.fixture
def inside() -> Iterator[list[bool]]:
    """What the watched modules reported; no hook stays behind."""
    from torch.nn.modules import module

    before = dict(module._global_forward_pre_hooks)
    yield []
    module._global_forward_pre_hooks.clear()
    module._global_forward_pre_hooks.update(before)


@pytest.mark.parametrize(
    ("name", "found"),
    [("body", ["body"]), ("act", ["head.act"]), ("head.act", ["head.act"]), ("ReLU", ["head.act"]), ("ody", [])],
)
def test_a_submodule_is_found_by_path_or_its_end_or_class(name: str, found: list[str], inside: list[bool]) -> None:
    watched = SubmoduleWatcher(name, inside.append)
    watched.watch()
    head = torch.nn.Sequential(OrderedDict(act=torch.nn.ReLU(), last=torch.nn.Linear(2, 2)))
    torch.nn.Sequential(OrderedDict(body=torch.nn.Linear(2, 2), head=head))(torch.ones(2))
    assert watched.found == found
    assert inside == [True, False] * len(found)


def test_the_outer_of_two_nested_submodules_ends_it_and_so_does_an_error(inside: list[bool]) -> None:
    watched = SubmoduleWatcher("Sequential", inside.append)
    watched.watch()
    nested = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(2, 2)), torch.nn.Identity())
    nested(torch.ones(2))
    assert inside == [True, True, True, False]  # in, further in, back to the outer, out
    with pytest.raises(RuntimeError, match=r"shapes cannot be multiplied|size mismatch"):
        nested(torch.ones(3))
    assert inside[-1] is False
