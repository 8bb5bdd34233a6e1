"""What is known of device memory. It is tracked by address, so CPU tensors serve as device tensors here."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from veritasest.engines.emulated.steering.memory.state import ASSUMED, REAL, UNKNOWN, ValueState
from veritasest.engines.emulated.steering.memory.tracker import RealValueTracker, ValueTracker


class Device:
    def __init__(self, limit: int = 1 << 30) -> None:
        self.limit = limit

    def claim(self, _address: int, size: int) -> bool:
        return size <= self.limit


def tracker(limit: int = 1 << 30, refused: list[int] | None = None) -> ValueTracker:
    return ValueTracker(torch, Device(limit), (refused if refused is not None else []).append)  # type: ignore[arg-type]


SIZE = 16
writes = st.tuples(
    st.sampled_from(["remember", "forget", "free"]),
    st.integers(0, SIZE - 1),
    st.integers(1, SIZE),
    st.sampled_from([REAL, ASSUMED, UNKNOWN]),
)


def moved(tracked: ValueTracker, to: torch.Tensor, source: torch.Tensor) -> None:
    tracked.moved(to.data_ptr(), source.data_ptr(), source.numel() * source.element_size())


@pytest.mark.parametrize("state", [REAL, ASSUMED, UNKNOWN])
def test_memory_copied_by_a_collective_is_as_well_known_as_before(state: ValueState) -> None:
    tracked, source = tracker(), torch.empty(SIZE, dtype=torch.int64)
    fresh, known = torch.empty(SIZE, dtype=torch.int64), torch.empty(SIZE, dtype=torch.int64)
    tracked.remember(known, REAL)
    tracked.remember(source, state)
    for target in (fresh, known):
        moved(tracked, target, source)
        assert tracked.state(target) == tracked.state(target[3:5]) == state


def test_a_part_of_known_memory_can_be_copied() -> None:
    tracked, source, target = tracker(), torch.empty(SIZE), torch.empty(2 * SIZE)
    tracked.remember(source, REAL)
    moved(tracked, target[:8], source[4:12])
    assert tracked.state(target[2:6]) == REAL
    assert tracked.state(torch.empty(SIZE)) == UNKNOWN


def test_a_gather_is_known_when_every_part_was_received() -> None:
    tracked, source, target = tracker(), torch.empty(8), torch.empty(16)
    tracked.remember(source, REAL)
    moved(tracked, target[:8], source)
    assert tracked.state(target) == UNKNOWN
    moved(tracked, target[8:], source)
    assert tracked.state(target) == REAL


def test_received_memory_is_forgotten_when_it_is_freed() -> None:
    tracked, source, target = tracker(), torch.empty(8), torch.empty(8)
    tracked.remember(source, REAL)
    moved(tracked, target, source)
    assert tracked.state(target) == REAL
    address = target.data_ptr()
    del target
    again = [torch.empty(8) for _ in range(20)]  # often at the same address
    assert all(tracked.state(tensor) == UNKNOWN for tensor in again), address


def test_received_memory_can_be_sent_on() -> None:
    tracked, source, between, target = tracker(), torch.empty(8), torch.empty(8), torch.empty(8)
    tracked.remember(source, ASSUMED)
    moved(tracked, between, source)
    moved(tracked, target, between)
    assert tracked.state(target) == ASSUMED


def test_received_memory_is_unknown_once_written_to() -> None:
    tracked, source, target = tracker(), torch.empty(8), torch.empty(8)
    tracked.remember(source, REAL)
    moved(tracked, target, source)
    tracked.forget(target[2:4])
    assert tracked.state(target) == UNKNOWN


def test_one_unknown_part_makes_all_of_a_storage_unknown() -> None:
    tracked, source, target = tracker(), torch.empty(4), torch.empty(8)
    tracked.remember(target, REAL)
    moved(tracked, target[:4], source)
    assert tracked.state(target) == UNKNOWN


@given(st.lists(writes, max_size=20))
def test_a_tensor_is_never_better_known_than_its_least_known_part(
    moves: list[tuple[str, int, int, ValueState]],
) -> None:
    tracked, tensor, known = tracker(), torch.empty(SIZE), [UNKNOWN] * SIZE
    for move, start, length, state in moves:
        part = tensor[start : start + length]
        written = UNKNOWN if move == "forget" else state
        if move == "free":
            del part, tensor
            tensor, known = torch.empty(SIZE), [UNKNOWN] * SIZE  # often at the same address
        elif move == "forget":
            tracked.forget(part)
        else:
            tracked.remember(part, state)
        if move != "free":
            known[start : start + length] = [written] * len(part)
            if len(part) == SIZE:
                assert tracked.state(tensor) == written
        assert tracked.state(tensor) >= max(known)
        assert tracked.state(tensor.view(4, 4).t()) == tracked.state(tensor)


def test_a_freed_storage_is_forgotten_even_if_another_has_its_address() -> None:
    tracked, addresses = tracker(), set()
    for _ in range(20):
        tensor = torch.empty(1000)
        addresses.add(tensor.data_ptr())
        assert tracked.state(tensor) == UNKNOWN
        tracked.remember(tensor, REAL)
        assert tracked.state(tensor[5:]) == REAL
        del tensor
    assert len(addresses) < 20


@pytest.mark.parametrize(("dtype", "state"), [(torch.int64, REAL), (torch.bool, REAL), (torch.float32, UNKNOWN)])
def test_integers_and_masks_can_be_filled_piece_by_piece(dtype: torch.dtype, state: ValueState) -> None:
    tracked, tensor = tracker(), torch.empty(4, dtype=dtype)
    tracked.remember(tensor[:1], REAL)
    assert tracked.state(tensor) == state
    tracked.remember(tensor[1:2], ASSUMED)
    assert tracked.state(tensor) == max(state, ASSUMED)


def test_a_mask_of_one_value_is_known_without_being_written() -> None:
    tracked, mask = tracker(), torch.empty(8, dtype=torch.bool)
    tracked.remember(mask, ASSUMED, fill=True)
    assert (tracked.state(mask), tracked.fill(mask)) == (ASSUMED, True)
    tracked.remember(mask, REAL)
    assert tracked.fill(mask) is None
    tracked.remember(mask[:3], ASSUMED, fill=True)
    assert tracked.state(mask) == UNKNOWN


@pytest.mark.parametrize("tensor", [torch.arange(12.0), torch.arange(12).view(3, 4).t()[1:], torch.ones(3, 0)])
def test_a_view_shares_the_memory_of_its_tensor(tensor: torch.Tensor) -> None:
    view = tracker().view(tensor)
    assert torch.equal(view, tensor)
    assert view.stride() == tensor.stride()
    view.fill_(7)
    assert bool((tensor == 7).all())


def test_memory_that_the_host_may_not_back_is_refused_with_its_size() -> None:
    refused: list[int] = []
    tracked = tracker(100, refused)
    assert tracked.claim(torch.empty(25))
    assert not tracked.claim(torch.empty(26))
    assert tracked.claim(torch.empty(0))
    assert not tracked.claim(torch.empty(10, 10)[:, 0])  # 4 bytes every 40, nine times, and the last 4
    assert refused == [104, 9 * 40 + 4]


def test_where_everything_is_computed_nothing_is_unknown() -> None:
    tracked, tensor = RealValueTracker(torch, Device()), torch.empty(3)  # type: ignore[arg-type]
    tracked.remember(tensor, UNKNOWN)
    tracked.forget(tensor)
    assert (tracked.state(tensor), tracked.fill(tensor)) == (REAL, None)
