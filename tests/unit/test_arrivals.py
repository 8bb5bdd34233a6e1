"""What collectives leave in memory: as well known as what they were given."""

from __future__ import annotations

import pytest

from veritasest.engines.emulated.steering.arrivals import MAX_ARRIVALS, Arrivals

REAL, ASSUMED = 0, 1


def arrivals(*ranges: tuple[int, int, int]) -> Arrivals:
    found = Arrivals()
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
        (100, 17, None),  # one byte more than arrived
        (99, 4, None),
        (200, 8, REAL),
        (116, 90, None),  # a gap lies between
        (300, 8, None),
    ],
)
def test_memory_is_known_where_all_of_it_arrived(address: int, size: int, state: int | None) -> None:
    found = arrivals((100, 8, REAL), (108, 8, ASSUMED), (200, 8, REAL))
    assert found.state(address, size) == state


def test_memory_that_was_written_to_since_is_forgotten() -> None:
    found = arrivals((100, 8, REAL), (108, 8, REAL))
    found.drop(104, 2)
    assert found.state(100, 8) is None
    assert found.state(108, 8) == REAL
    found.drop(0, 1000)
    assert not found


def test_the_oldest_are_forgotten_first() -> None:
    found = arrivals(*[(8 * number, 8, REAL) for number in range(MAX_ARRIVALS + 1)])
    assert found.state(0, 8) is None
    assert found.state(8, 8 * MAX_ARRIVALS) == REAL
