"""The tensors of a backward pass whose Python objects autograd must not count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from veritasest.engines.emulated.steering.kernels.use_counts import REMOVED_TOGETHER, UseCounts
from veritasest.engines.emulated.steering.memory.tracker import resident_bytes


@pytest.fixture
def uses() -> Iterator[UseCounts]:
    counts = UseCounts(torch)
    counts.enable()
    yield counts
    torch._C._set_cached_tensors_enabled(False)


def in_backward(work: Any) -> None:
    """Runs `work` as a part of a backward pass."""

    class Worker(torch.autograd.Function):
        @staticmethod
        def forward(_: Any, value: torch.Tensor) -> torch.Tensor:
            return value.clone()

        @staticmethod
        def backward(_: Any, grad: torch.Tensor) -> torch.Tensor:
            work()
            return grad

    Worker.apply(torch.ones(1, requires_grad=True)).sum().backward()


def test_tensors_are_listed_in_the_backward_pass_alone(uses: UseCounts) -> None:
    tensor, weight = torch.ones(2), torch.ones(2, requires_grad=True)
    assert uses.passed((tensor,), {}, tensor) is tensor
    assert not torch._C._is_cached_tensor(tensor)
    in_backward(lambda: uses.passed((tensor, weight), {}, None))
    assert torch._C._is_cached_tensor(tensor)
    assert not torch._C._is_cached_tensor(weight)


def test_the_list_does_not_grow_with_tensors_that_are_gone(uses: UseCounts) -> None:
    alive = torch.ones(1)

    def work(tensors: int) -> None:
        for _ in range(tensors):
            uses.passed((alive, torch.empty(1)), {}, None)

    in_backward(lambda: work(10 * REMOVED_TOGETHER))
    before = resident_bytes()
    in_backward(lambda: work(100 * REMOVED_TOGETHER))
    # An entry that stayed would hold some 300 bytes: 102,400 of them 30 MB.
    assert resident_bytes() - before < 8 << 20
    assert torch._C._is_cached_tensor(alive)


def test_a_listed_tensor_that_is_gone_leaves_a_new_one_at_its_address_alone(uses: UseCounts) -> None:
    kept = []

    def work() -> None:
        for _ in range(3 * REMOVED_TOGETHER):
            uses.passed((torch.empty(1),), {}, None)
            kept.append(torch.empty(1))
            uses.passed((kept[-1],), {}, None)

    in_backward(work)
    assert all(torch._C._is_cached_tensor(tensor) for tensor in kept)
