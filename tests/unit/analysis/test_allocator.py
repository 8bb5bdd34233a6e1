"""The simulated caching allocator: books that balance, recorded histories reproduced, other addresses tried."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from traces import header

from veritasest.analysis.allocator import address_range
from veritasest.analysis.allocator.caching import CachingAllocator
from veritasest.analysis.allocator.history import Row, replay, reproduce, requests
from veritasest.analysis.allocator.layouts import RANGE_BYTES, Layout, downwards, upwards
from veritasest.trace import Blocks, Segment, Trace

TRUTH = Path(__file__).parents[3] / "benchmarks/truth"
MIB = 1 << 20

# 24 MiB cut in two halves, and a segment of 12 MiB: the request "z" finds one half and the other segment free. Where it
# takes the half, the 24 MiB are not whole when "w" asks for them.
TIE = "+a24 -a +x12 +u12 +y12 -x -y +z12 -u +w24"
TIE_PEAKS = (36 * MIB, 60 * MIB)


def record(script: str, layout: Layout) -> list[Row]:
    """The history that PyTorch would leave: "+name" with its MiB allocates, "-name" frees, "!" gives back the cache."""
    rows: list[Row] = []
    names: dict[str, tuple[int, int]] = {}

    def place(size: int) -> int:
        rows.append(("s", layout.place(size), size, 0))
        return rows[-1][1]

    def give_back(address: int) -> None:
        rows.append(("f", address, 0, 0))
        layout.give_back(address)

    allocator = CachingAllocator(place, give_back)
    for word in script.split():
        if word[0] == "+":
            size = int(word[2:]) * MIB
            names[word[1]] = (allocator.allocate(size, 0), size)
            rows.append(("a", *names[word[1]], 0))
        elif word[0] == "-":
            address, size = names.pop(word[1])
            allocator.free(address)
            rows += [("r", address, size, 0), ("c", address, size, 0)]
        else:
            allocator.release_cached()
    return rows


def trace_of(rows: list[Row], *, foreign: int = 0) -> Trace:
    letters, addresses, sizes, streams = zip(*rows, strict=True)
    blocks = Blocks(
        pid=1, t=0, device=0, step=0, actions="".join(letters), addresses=addresses, sizes=sizes, streams=streams
    )
    used, events = foreign, []
    for letter, address, size, _ in rows:
        if letter in "sf":
            used += size if letter == "s" else -size
            events.append(Segment(pid=1, t=0, op="alloc", device=0, bytes=size, address=address, used_bytes=used))
    return Trace(header=header(), events=(*events, blocks))


def recorded_on_gpu(name: str) -> list[Row]:
    record = json.loads(gzip.decompress((TRUTH / f"{name}_history.json.gz").read_bytes()))
    return [
        (letter, address, size, 0)
        for letter, address, size in zip(record["actions"], record["addresses"], record["sizes"], strict=True)
    ]


@pytest.mark.parametrize(
    ("request_bytes", "segment_bytes"),
    [(1, 2), (MIB, 2), (MIB + 1, 20), (10 * MIB - 512, 20), (10 * MIB, 10), (10 * MIB + 1, 12), (33 * MIB, 34)],
)
def test_segments_have_pytorchs_sizes(request_bytes: int, segment_bytes: int) -> None:
    allocator = CachingAllocator(Layout(downwards).place)
    allocator.allocate(request_bytes, 0)
    assert allocator.reserved_bytes == segment_bytes * MIB


def test_a_rest_of_exactly_one_mib_is_not_split_from_a_large_block() -> None:
    allocator = CachingAllocator(Layout(downwards).place)
    allocator.allocate(11 * MIB, 0)  # of 12 MiB: the rest is not above 1 MiB
    assert [size for _, size, _ in allocator.blocks()] == [12 * MIB]


@pytest.mark.parametrize(("name", "reserved_bytes"), [("resnet50_fp32", 3_667_918_848), ("gpt_s_bf16", 2_709_520_384)])
def test_histories_of_the_gpu_come_out_address_by_address(name: str, reserved_bytes: int) -> None:
    found = reproduce(recorded_on_gpu(name))
    assert found is not None
    assert found.peak_bytes == reserved_bytes
    assert found.ties > 100


def test_a_history_made_by_other_rules_is_not_reproduced() -> None:
    rows = record("+a4 +b4 -a +c4", Layout(downwards))
    assert reproduce(rows) is not None
    letter, address, size, stream = rows[-1]
    assert reproduce([*rows[:-1], (letter, address + 512, size, stream)]) is None
    assert reproduce([*rows, ("s", 1, 20 * MIB, 0), ("a", 1, MIB * 4, 0)]) is None  # a segment where none was needed
    assert reproduce([row for row in rows if row[0] != "s"]) is None


def test_an_emptied_cache_must_be_the_whole_cache() -> None:
    rows = record("+a12 +b24 -a -b !", Layout(downwards))
    assert reproduce(rows) is not None
    assert reproduce(rows[:-1]) is None
    assert reproduce([*rows[:-1], ("a", 7, 512, 0)]) is None


@pytest.mark.parametrize("row", [("m", 1, 2 * MIB, 0), ("o", 1, 512, 0), ("?", 1, 512, 0), ("c", 99, 512, 0)])
def test_histories_with_gaps_or_other_kinds_of_events_are_not_simulated(row: Row) -> None:
    rows = record("+a4 -a +b4", Layout(downwards))
    assert requests(rows) is not None
    assert requests([*rows, row]) is None
    assert address_range(trace_of([*rows, row])) is None


def test_the_order_of_addresses_decides_between_equal_blocks() -> None:
    rows = record(TIE, Layout(downwards))
    asked = requests(rows)
    assert asked is not None
    peaks = [replay(asked, layout.place, layout.give_back) for layout in map(Layout, (downwards, upwards))]
    assert sorted(found.peak_bytes for found in peaks) == list(TIE_PEAKS)
    assert all(found.ties for found in peaks)


@pytest.mark.parametrize("order", [downwards, upwards])
def test_the_range_holds_what_other_orders_of_addresses_give(order: object) -> None:
    assert address_range(trace_of(record(TIE, Layout(order)))) == TIE_PEAKS  # type: ignore[arg-type]


def test_a_job_without_ties_has_no_range() -> None:
    assert address_range(trace_of(record("+a4 +b24 -a -b +c4 +d24", Layout(downwards)))) is None


def test_a_job_whose_peak_does_not_move_has_no_range() -> None:
    rows = record("+a12 +b12 -a -b +c12 +d12", Layout(downwards))  # a tie, but both blocks are as good
    assert address_range(trace_of(rows)) is None


def test_nothing_is_claimed_where_the_device_gave_more_than_the_history_shows() -> None:
    assert address_range(trace_of(record(TIE, Layout(downwards)), foreign=2 * MIB)) is None


def test_small_segments_share_a_range() -> None:
    layout = Layout(downwards)
    first, second, third = (layout.place(size * MIB) for size in (20, 20, 2))
    assert (second < first, third) == (True, second + 20 * MIB)  # the lowest gap: in the range below
    layout.give_back(second)
    assert layout.place(12 * MIB) == second
    assert layout.place(34 * MIB) % RANGE_BYTES == 0
