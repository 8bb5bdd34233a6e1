"""The shape of a batch, whatever it is made up of."""

from __future__ import annotations

from collections import UserDict, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from veritasest.engines.emulated.agent.shapes import MAX_PARTS, describe_batch


def tensor(*shape: int) -> SimpleNamespace:
    return SimpleNamespace(shape=shape, is_cuda=False)


Packed = namedtuple("Packed", ["data", "batch_sizes"])


@dataclass
class Sample:
    image: Any
    label: int


class Graph:
    def __init__(self) -> None:
        self._store = SimpleNamespace(nodes=tensor(5, 2), name="a graph")


BATCHES = {
    "a tensor": (tensor(4, 8), 4 * 8),
    "a dict": ({"ids": tensor(4, 8), "labels": tensor(4), "names": ["a", "b"]}, 4 * 8 + 4),
    "a dictionary of a library's own": (UserDict(ids=tensor(4, 8)), 4 * 8),
    "images of their own sizes": ([[tensor(3, 5, 5), tensor(3, 6, 6)], ({"boxes": tensor(2, 4)}, None)], 75 + 108 + 8),
    "a packed sequence": (Packed(tensor(9, 2), tensor(3)), 9 * 2 + 3),
    "a dataclass": (Sample(tensor(3, 3), 1), 9),
    "an object": (Graph(), 5 * 2),
    "nothing to see": ("text", 0),
}


@pytest.mark.parametrize("kind", BATCHES)
def test_all_tensors_of_a_batch_are_found(kind: str) -> None:
    batch, elements = BATCHES[kind]
    assert describe_batch(batch).elements == elements


def test_batches_of_the_same_shapes_look_alike_and_others_do_not() -> None:
    assert describe_batch({"x": tensor(4, 8)}) == describe_batch({"x": tensor(4, 8)})
    assert describe_batch({"x": tensor(4, 8)}).signature != describe_batch({"x": tensor(8, 4)}).signature


def test_fewer_but_longer_texts_have_more_quadratic_elements() -> None:
    many, long = describe_batch(tensor(64, 128)), describe_batch(tensor(8, 1024))
    assert many.elements == long.elements == 8192
    assert (many.quadratic_elements, long.quadratic_elements) == (8192 * 128, 8192 * 1024)


def test_a_batch_that_contains_itself_or_has_no_end_of_parts_costs_little() -> None:
    endless: list[Any] = [tensor(2)]
    endless += [endless, *[0] * (2 * MAX_PARTS)]
    assert describe_batch(endless).elements >= 2
