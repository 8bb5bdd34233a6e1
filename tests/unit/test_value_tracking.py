"""What is known of device memory, which operators are watched, and where all are computed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from veritasest.engines.emulated.steering.contents import ASSUMED, REAL, UNKNOWN, Contents, RealContents
from veritasest.engines.emulated.steering.modules import Modules
from veritasest.engines.emulated.steering.operators import describe

# What device memory holds. The books are kept by address, so CPU tensors will do.


class Device:
    def __init__(self, limit: int = 1 << 30) -> None:
        self.limit = limit

    def claim(self, _address: int, size: int) -> bool:
        return size <= self.limit


def books(limit: int = 1 << 30, refused: list[int] | None = None) -> Contents:
    return Contents(torch, Device(limit), (refused if refused is not None else []).append)  # type: ignore[arg-type]


SIZE = 16
writes = st.tuples(
    st.sampled_from(["remember", "forget", "free"]),
    st.integers(0, SIZE - 1),
    st.integers(1, SIZE),
    st.sampled_from([REAL, ASSUMED, UNKNOWN]),
)


def moved(contents: Contents, to: torch.Tensor, source: torch.Tensor) -> None:
    contents.moved(to.data_ptr(), source.data_ptr(), source.numel() * source.element_size())


@pytest.mark.parametrize("state", [REAL, ASSUMED, UNKNOWN])
def test_what_a_collective_moves_is_as_well_known_as_before(state: int) -> None:
    contents, source = books(), torch.empty(SIZE, dtype=torch.int64)
    fresh, known = torch.empty(SIZE, dtype=torch.int64), torch.empty(SIZE, dtype=torch.int64)
    contents.remember(known, REAL)
    contents.remember(source, state)
    for target in (fresh, known):
        moved(contents, target, source)
        assert contents.state(target) == contents.state(target[3:5]) == state


def test_a_part_of_what_is_known_can_be_moved() -> None:
    contents, source, target = books(), torch.empty(SIZE), torch.empty(2 * SIZE)
    contents.remember(source, REAL)
    moved(contents, target[:8], source[4:12])
    assert contents.state(target[2:6]) == REAL
    assert contents.state(torch.empty(SIZE)) == UNKNOWN


def test_a_gather_is_known_when_every_part_has_arrived() -> None:
    contents, source, target = books(), torch.empty(8), torch.empty(16)
    contents.remember(source, REAL)
    moved(contents, target[:8], source)
    assert contents.state(target) == UNKNOWN
    moved(contents, target[8:], source)
    assert contents.state(target) == REAL


def test_what_arrived_is_known_no_longer_than_its_memory_lives() -> None:
    contents, source, target = books(), torch.empty(8), torch.empty(8)
    contents.remember(source, REAL)
    moved(contents, target, source)
    assert contents.state(target) == REAL
    address = target.data_ptr()
    del target
    again = [torch.empty(8) for _ in range(20)]  # often at the same address
    assert all(contents.state(tensor) == UNKNOWN for tensor in again), address


def test_what_arrived_may_be_moved_on() -> None:
    contents, source, between, target = books(), torch.empty(8), torch.empty(8), torch.empty(8)
    contents.remember(source, ASSUMED)
    moved(contents, between, source)
    moved(contents, target, between)
    assert contents.state(target) == ASSUMED


def test_what_arrived_and_was_written_to_since_is_unknown() -> None:
    contents, source, target = books(), torch.empty(8), torch.empty(8)
    contents.remember(source, REAL)
    moved(contents, target, source)
    contents.forget(target[2:4])
    assert contents.state(target) == UNKNOWN


def test_a_part_of_known_memory_that_became_unknown_makes_all_of_it_unknown() -> None:
    contents, source, target = books(), torch.empty(4), torch.empty(8)
    contents.remember(target, REAL)
    moved(contents, target[:4], source)
    assert contents.state(target) == UNKNOWN


@given(st.lists(writes, max_size=20))
def test_a_tensor_is_never_better_known_than_its_least_known_part(moves: list[tuple[str, int, int, int]]) -> None:
    contents, tensor, known = books(), torch.empty(SIZE), [UNKNOWN] * SIZE
    for move, start, length, state in moves:
        part = tensor[start : start + length]
        written = UNKNOWN if move == "forget" else state
        if move == "free":
            del part, tensor
            tensor, known = torch.empty(SIZE), [UNKNOWN] * SIZE  # often at the same address
        elif move == "forget":
            contents.forget(part)
        else:
            contents.remember(part, state)
        if move != "free":
            known[start : start + length] = [written] * len(part)
            if len(part) == SIZE:
                assert contents.state(tensor) == written
        assert contents.state(tensor) >= max(known)
        assert contents.state(tensor.view(4, 4).t()) == contents.state(tensor)


def test_a_freed_storage_is_forgotten_also_when_another_has_its_place() -> None:
    contents, addresses = books(), set()
    for _ in range(20):
        tensor = torch.empty(1000)
        addresses.add(tensor.data_ptr())
        assert contents.state(tensor) == UNKNOWN
        contents.remember(tensor, REAL)
        assert contents.state(tensor[5:]) == REAL
        del tensor
    assert len(addresses) < 20


@pytest.mark.parametrize(("dtype", "state"), [(torch.int64, REAL), (torch.bool, REAL), (torch.float32, UNKNOWN)])
def test_integers_and_masks_may_be_filled_piece_by_piece(dtype: torch.dtype, state: int) -> None:
    contents, tensor = books(), torch.empty(4, dtype=dtype)
    contents.remember(tensor[:1], REAL)
    assert contents.state(tensor) == state
    contents.remember(tensor[1:2], ASSUMED)
    assert contents.state(tensor) == max(state, ASSUMED)


def test_a_mask_that_is_all_the_same_is_known_without_being_written_down() -> None:
    contents, mask = books(), torch.empty(8, dtype=torch.bool)
    contents.remember(mask, ASSUMED, fill=True)
    assert (contents.state(mask), contents.fill(mask)) == (ASSUMED, True)
    contents.remember(mask, REAL)
    assert contents.fill(mask) is None
    contents.remember(mask[:3], ASSUMED, fill=True)
    assert contents.state(mask) == UNKNOWN


@pytest.mark.parametrize("tensor", [torch.arange(12.0), torch.arange(12).view(3, 4).t()[1:], torch.ones(3, 0)])
def test_a_view_shares_the_memory_of_its_tensor(tensor: torch.Tensor) -> None:
    view = books().view(tensor)
    assert torch.equal(view, tensor)
    assert view.stride() == tensor.stride()
    view.fill_(7)
    assert bool((tensor == 7).all())


def test_what_the_host_may_not_back_is_refused_with_its_size() -> None:
    refused: list[int] = []
    contents = books(100, refused)
    assert contents.claim(torch.empty(25))
    assert not contents.claim(torch.empty(26))
    assert contents.claim(torch.empty(0))
    assert not contents.claim(torch.empty(10, 10)[:, 0])  # 4 bytes every 40, nine times, and the last 4
    assert refused == [104, 9 * 40 + 4]


def test_where_all_is_computed_nothing_is_unknown() -> None:
    contents, tensor = RealContents(torch, Device()), torch.empty(3)  # type: ignore[arg-type]
    contents.remember(tensor, UNKNOWN)
    contents.forget(tensor)
    assert (contents.state(tensor), contents.fill(tensor)) == (REAL, None)


# Which operators are watched

FLAGS = ("heavy", "control", "decides", "random", "inserts")


@pytest.mark.parametrize(
    ("name", "flags", "written", "outputs_only"),
    [
        ("add.Tensor", "", (), ()),
        ("cumsum", "", (), ()),
        ("where.self", "", (), ()),
        ("mul.Tensor", "decides", (), ()),
        ("add_.Tensor", "", (0,), ()),
        ("fill_.Scalar", "", (0,), (0,)),
        ("_cummax_helper", "", (1, 2), (1, 2)),
        ("topk", "control decides", (), ()),
        ("nonzero", "control decides", (), ()),
        ("gt.Scalar_out", "control decides", ("out",), ("out",)),
        ("normal_", "random", (0,), (0,)),
        ("bernoulli_.float", "control decides random", (0,), (0,)),
        ("randperm.generator_out", "random", ("out",), ("out",)),
        ("scatter_.src", "inserts", (0,), ()),
        ("_index_put_impl_", "inserts", (0,), ()),
        ("mm", "heavy", (), ()),
        ("native_layer_norm", "heavy", (), ()),
        ("_foreach_add_.List", "heavy", (0,), ()),
    ],
)
def test_operators_are_told_apart(
    name: str, flags: str, written: tuple[int | str, ...], outputs_only: tuple[int | str, ...]
) -> None:
    operator = describe(torch, f"aten::{name}")
    assert operator is not None
    assert " ".join(flag for flag in FLAGS if getattr(operator, flag)) == flags
    assert (operator.written, operator.outputs_only) == (written, outputs_only)


@pytest.mark.parametrize("name", ["empty.memory_format", "view", "as_strided", "resize_", "set_.source_Storage"])
def test_operators_that_only_make_or_reinterpret_memory_are_not_watched(name: str) -> None:
    assert describe(torch, f"aten::{name}") is None


def test_every_operator_of_the_gpu_can_be_described_and_none_is_both_mathematics_and_decision() -> None:
    names = torch._C._dispatch_get_registrations_for_dispatch_key("CUDA")
    found = [describe(torch, name) for name in names if name.startswith("aten::")]
    watched = [operator for operator in found if operator is not None]
    assert len(watched) > 1000
    assert [operator.name for operator in watched if operator.heavy and operator.control] == []


# Real values in one submodule


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
    watched = Modules(name, inside.append)
    watched.watch()
    head = torch.nn.Sequential(OrderedDict(act=torch.nn.ReLU(), last=torch.nn.Linear(2, 2)))
    torch.nn.Sequential(OrderedDict(body=torch.nn.Linear(2, 2), head=head))(torch.ones(2))
    assert watched.found == found
    assert inside == [True, False] * len(found)


def test_the_outer_of_two_nested_submodules_ends_it_and_so_does_an_error(inside: list[bool]) -> None:
    watched = Modules("Sequential", inside.append)
    watched.watch()
    nested = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(2, 2)), torch.nn.Identity())
    nested(torch.ones(2))
    assert inside == [True, True, True, False]  # in, further in, back to the outer, out
    with pytest.raises(RuntimeError, match=r"shapes cannot be multiplied|size mismatch"):
        nested(torch.ones(3))
    assert inside[-1] is False
