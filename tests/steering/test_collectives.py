"""What collectives leave in memory is as well known as what they were given."""

from __future__ import annotations

import pytest

from veritasest.engines.emulated.steering.memory.collectives import MAX_RANGES, ReceivedRanges
from veritasest.engines.emulated.steering.memory.state import ASSUMED, REAL, ValueState


def received(*ranges: tuple[int, int, ValueState]) -> ReceivedRanges:
    found = ReceivedRanges()
    for address, size, state in ranges:
        found.add(address, size, state)
    return found


@pytest.mark.parametrize(
    ("address", "size", "state"),
    [
        (100, 8, REAL),
        (104, 4, REAL),
        (100, 16, ASSUMED),  # as well known as its least known part
        (108, 8, ASSUMED),
        (100, 17, None),  # one byte more than was received
        (99, 4, None),
        (200, 8, REAL),
        (116, 90, None),  # with a gap in between
        (300, 8, None),
    ],
)
def test_memory_is_known_where_all_of_it_was_received(address: int, size: int, state: ValueState | None) -> None:
    found = received((100, 8, REAL), (108, 8, ASSUMED), (200, 8, REAL))
    assert found.state(address, size) == state


def test_received_memory_that_was_written_to_since_is_forgotten() -> None:
    found = received((100, 8, REAL), (108, 8, REAL))
    found.drop(104, 2)
    assert found.state(100, 8) is None
    assert found.state(108, 8) == REAL
    found.drop(0, 1000)
    assert not found


def test_the_oldest_ranges_are_dropped_first() -> None:
    found = received(*[(8 * number, 8, REAL) for number in range(MAX_RANGES + 1)])
    assert found.state(0, 8) is None
    assert found.state(8, 8 * MAX_RANGES) == REAL
