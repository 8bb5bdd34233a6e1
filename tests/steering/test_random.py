"""The GPU's random numbers, drawn again on the CPU, against those recorded on an H200 (record_random.py)."""

from __future__ import annotations

import ctypes
import gzip
import json
import zlib
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import torch

from veritasest.engines.emulated.steering.random import Target, draw, layout, philox

TRUTH = Path(__file__).parents[2] / "benchmarks" / "workspaces" / "truth" / "random.jsonl.gz"
GPU, *ROWS = [json.loads(line) for line in gzip.decompress(TRUTH.read_bytes()).splitlines()]
H200 = {"sms": GPU["sms"], "threads_per_sm": GPU["threads_per_sm"]}
GRID = GPU["sms"] * GPU["threads_per_sm"]
MANY = 4000  # threads

EXACT = ["random_", "random_.to", "random_.from", "uniform_", "bernoulli_.float", "bernoulli_.Tensor", "bernoulli.out"]
EXACT += ["native_dropout", "randperm"]
# Through functions that the GPU computes by faster, rougher means.
CLOSE = ["normal_", "log_normal_", "exponential_", "geometric_", "cauchy_"]
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2**-10, "bfloat16": 2**-7}


def rows(op: str, **given: Any) -> list[dict[str, Any]]:
    """In an order that lets equal draws follow each other."""
    found = [row for row in ROWS if row["op"] == op and all(row["parameters"].get(k) == v for k, v in given.items())]
    return sorted(found, key=lambda row: (row["seed"], row["offset"], row["shape"]))


@pytest.fixture(autouse=True, scope="module")
def _draw_once() -> Any:
    """Many rows share seed and offset: for those of many threads, a whole grid's words are computed, once. What is
    drawn is changed in place."""

    @lru_cache(maxsize=32)
    def grid(seed: int, counter: int, count: int) -> Any:
        return philox.words(torch, seed, counter, 0, count)

    def words(_: Any, seed: int, counter: int, first: int, count: int, wanted: int = 4) -> Any:
        if count < MANY or first:
            return philox.words(torch, seed, counter, first, count, wanted)
        return grid(seed, counter, max(count, GRID))[:wanted, :count].clone()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "words", words)
        yield


def weights(numel: int, dtype: torch.dtype, *, least: int = 0) -> torch.Tensor:
    """As record_random.py makes them."""
    return ((torch.arange(numel) * 37 % (101 - least) + least).double() / 100).to(dtype)


def strides(shape: list[int], view: str | None) -> tuple[int, ...] | None:
    if view == "transposed":
        return (1, shape[0])
    if view == "every second column":
        return (2 * shape[1], 2)
    return (shape[1] * shape[2], 1, shape[1]) if view == "channels last" else None


def redraw(row: dict[str, Any]) -> torch.Tensor:
    shape, dtype, given = row["shape"], getattr(torch, row["dtype"]), dict(row["parameters"])
    numel = torch.Size(shape).numel()
    layout_given = {
        "strides": strides(shape, given.pop("view", None)),
        "address": given.pop("shift", 0) * dtype.itemsize,
    }
    if row["op"].startswith("bernoulli") and "p" not in given:
        given["probabilities"] = weights(numel, getattr(torch, given.pop("weights", row["dtype"]))).view(shape)
    if row["op"] == "multinomial":
        given["probabilities"] = weights(numel, dtype, least=1).view(shape)
    source = layout.Source(torch=torch, seed=row["seed"], offset=row["offset"], **H200)
    out = draw(f"aten::{row['op']}", source, Target(shape=shape, dtype=dtype, **layout_given), given)
    assert out is not None, row
    assert list(out.shape) == row["out"]
    return out.contiguous().flatten()


def drawn(name: str, shape: list[int], dtype: torch.dtype, given: dict[str, Any], offset: int = 0) -> Any:
    source = layout.Source(torch=torch, seed=1, offset=offset, **H200)
    return draw(name, source, Target(shape=shape, dtype=dtype), given)


def is_exact(flat: torch.Tensor, row: dict[str, Any]) -> bool:
    return zlib.crc32(ctypes.string_at(flat.data_ptr(), flat.numel() * flat.element_size())) == row["crc"]


def ends(flat: torch.Tensor) -> torch.Tensor:
    return torch.cat((flat[:8], flat[-8:])).double()


def recorded_ends(row: dict[str, Any]) -> torch.Tensor:
    return torch.tensor(row["head"] + row["tail"], dtype=torch.float64)


@pytest.mark.parametrize("count", [1, 1000])
def test_the_generator_gives_the_words_that_its_authors_publish(count: int) -> None:
    """Random123's known answer for Philox4x32-10, counter and key zero."""
    found = philox.words(torch, 0, 0, 0, count)[:, 0].tolist()
    assert [f"{word:08x}" for word in found] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


def test_plain_numbers_and_tensors_give_the_same_words() -> None:
    many = philox.words(torch, 2**63 + 5, 2**40 + 9, 0, 100)
    few = philox.words(torch, 2**63 + 5, 2**40 + 9, 50, philox.FEW)
    assert torch.equal(many[:, 50 : 50 + philox.FEW], few)


@pytest.mark.parametrize("op", EXACT)
def test_every_recorded_number_is_drawn_again_bit_by_bit(op: str) -> None:
    found = rows(op)
    assert found
    for row in found:
        assert is_exact(redraw(row), row), row


@pytest.mark.parametrize("op", CLOSE)
def test_numbers_through_fast_functions_are_close(op: str) -> None:
    for row in rows(op):
        flat = redraw(row)
        tolerance = TOLERANCE[row["dtype"]]
        torch.testing.assert_close(ends(flat), recorded_ends(row), rtol=tolerance, atol=tolerance / 10)
        if op != "cauchy_":  # has no mean
            assert flat.double().sum().item() == pytest.approx(row["sum"], abs=2e-6 * flat.numel()), row


def test_choices_without_replacement_are_the_same() -> None:
    for row in [*rows("multinomial", replacement=False), *rows("multinomial", replacement=True, num_samples=1)]:
        assert is_exact(redraw(row), row), row


def test_choices_with_replacement_are_the_same_but_for_the_rounding_of_sums() -> None:
    """Perhaps the GPU adds up the shares in another order. In single precision that moves a few choices among thousands
    of categories by one: the sums of 4,160 and of 260 choices differ by 1 and by 4. In half precision it moves many, by
    less than 1% of the categories."""
    for row in rows("multinomial", num_samples=130):
        flat = redraw(row)
        off = (ends(flat) - recorded_ends(row)).abs().max().item()
        if row["dtype"] == "float16":
            assert off <= max(1, row["shape"][-1] / 100), row
        else:
            assert off == 0, row
            assert abs(flat.double().sum().item() - row["sum"]) <= (4 if row["dtype"] == "float32" else 0), row


def test_the_generator_moves_on_as_recorded() -> None:
    for row in rows("uniform_"):
        source = layout.Source(torch=torch, seed=0, offset=row["offset"], **H200)
        unroll = 2 if row["dtype"] == "float64" else 4
        assert source.after_sweeps(torch.Size(row["shape"]).numel(), unroll).offset == row["after"]


def test_every_recorded_row_is_checked_here() -> None:
    assert {op for op, _ in groupby(ROWS, key=lambda row: row["op"])} == {*EXACT, *CLOSE, "multinomial"}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("aten::poisson", {}),
        ("aten::random_.from", {"from": 0, "to": 2**24 + 2}),  # beyond what float32 counts exactly
    ],
)
def test_numbers_without_a_known_rule_are_not_drawn(name: str, given: dict[str, Any]) -> None:
    assert drawn(name, [8], torch.float32, given) is None


def test_an_offset_that_no_generator_of_pytorch_has_is_refused() -> None:
    assert drawn("aten::uniform_", [8], torch.float32, {}, offset=2) is None


def test_the_default_device_and_type_make_no_difference() -> None:
    before = torch.get_default_dtype()
    expected = drawn("aten::uniform_", [100], torch.float32, {})
    try:
        torch.set_default_dtype(torch.float64)
        with torch.device("meta"):
            found = drawn("aten::uniform_", [100], torch.float32, {})
            mask = drawn("aten::native_dropout", [100], torch.float32, {"p": 0.5})
            order = drawn("aten::randperm", [60], torch.int64, {}, offset=4)
    finally:
        torch.set_default_dtype(before)
    assert torch.equal(found, expected)
    assert mask.device.type == order.device.type == "cpu"
