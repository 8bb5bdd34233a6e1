"""Records what CUDA's random operators draw for a given seed and offset, on a real GPU.

    python -m benchmarks.workspaces.record_random OUT.jsonl

Needs only torch and a GPU. The first line has the GPU and the versions. Every other line is
one call: its first and last values, a CRC32 of all bytes in logical order, the sum, and the generator's offset
afterwards. Inputs follow a formula (`weights`), so that the reader can make them again.
"""

from __future__ import annotations

import ctypes
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

Case = dict[str, Any]

# One thread block is 256 threads; a sweep of an H200's grid is 132 * 8 * 256 threads with 4 (or 2) elements each.
SIZES = [1, 3, 255, 256, 257, 1000, 4097, 70_000, 600_000, 1_200_000]
FEW = [3, 257, 4097, 1_200_000]
EDGES = [270_335, 270_336, 270_337, 540_672, 540_673, 1_081_344, 1_081_345, 2_500_000]
# Beyond this many elements the other operators and types only repeat what these show.
LARGE = 70_000
LARGE_TOO = {("uniform_", "float32"), ("normal_", "float32"), ("random_", "int64"), ("bernoulli.out", "float32")}
LARGE_TOO |= {("native_dropout", "float32"), ("native_dropout", "bfloat16"), ("randperm", "int64")}
LARGE_TOO |= {("multinomial", dtype) for dtype in ("float32", "float16", "float64")}
# (seed, offset): a plain one, one mid-run, one whose words are all in use.
STATES = [(0, 0), (1234, 4), (2**40 + 7, 1000), (2**64 - 1, 2**35 + 12)]


def weights(numel: int, dtype: torch.dtype, *, least: int = 0) -> torch.Tensor:
    """Hundredths between `least` and 100, in an order without a short period."""
    return ((torch.arange(numel) * 37 % (101 - least) + least).double() / 100).to(dtype)


def case(op: str, dtype: str, shape: int | list[int], state: int = 1, **parameters: Any) -> Case:
    seed, offset = STATES[state % len(STATES)]
    shape = [shape] if isinstance(shape, int) else shape
    return {"op": op, "dtype": dtype, "shape": shape, "seed": seed, "offset": offset, "parameters": parameters}


def integers() -> Iterator[Case]:
    for i, numel in enumerate([*SIZES, *EDGES]):
        yield case("random_.from", "int64", numel, i, **{"from": 0, "to": 30_522})
        yield case("random_", "int64", numel, i + 1)
    for i, numel in enumerate(FEW):
        yield case("random_.to", "int64", numel, i, to=50_257)
        yield case("random_.from", "int64", numel, i, **{"from": -7, "to": 9})
        yield case("random_.from", "int64", numel, i, **{"from": 5, "to": 2**28 + 4})
        yield case("random_.from", "int64", numel, i, **{"from": 5, "to": 2**28 + 5})
        yield case("random_.from", "int64", numel, i, **{"from": -(2**62), "to": 2**62 + 99})
        yield case("random_.from", "int64", numel, i, **{"from": -(2**63), "to": 2**63 - 1})
        yield case("random_.from", "int64", numel, i, **{"from": -(2**63), "to": None})
        yield case("random_.from", "int64", numel, i, **{"from": 100, "to": None})
        yield case("random_.from", "int32", numel, i, **{"from": -(2**31), "to": 2**31 - 1})
        yield case("random_.from", "int32", numel, i, **{"from": 3, "to": None})
        for dtype in ("int32", "int16", "int8", "uint8", "bool", "float16", "bfloat16", "float32", "float64"):
            yield case("random_", dtype, numel, i)
            yield case("random_.to", dtype, numel, i, to=2 if dtype == "bool" else 100)


def floats() -> Iterator[Case]:
    for i, numel in enumerate([*SIZES, *EDGES]):
        yield case("uniform_", "float32", numel, i, **{"from": 0.0, "to": 1.0})
        yield case("normal_", "float32", numel, i, mean=0.0, std=1.0)
        yield case("bernoulli_.float", "float32", numel, i, p=0.15)
        yield case("uniform_", "float64", numel, i, **{"from": 0.0, "to": 1.0})
    for i, numel in enumerate(FEW):
        for dtype in ("float32", "float64", "float16", "bfloat16"):
            yield case("uniform_", dtype, numel, i, **{"from": 0.0, "to": 1.0})
            yield case("uniform_", dtype, numel, i, **{"from": -0.3, "to": 1.7})
            yield case("normal_", dtype, numel, i, mean=0.5, std=0.02)
            yield case("exponential_", dtype, numel, i, lambd=1.0)
            yield case("geometric_", dtype, numel, i, p=0.2)
            yield case("log_normal_", dtype, numel, i, mean=1.0, std=0.5)
            yield case("cauchy_", dtype, numel, i, median=0.0, sigma=1.0)
        for dtype in ("bool", "int64", "uint8", "float16", "bfloat16", "float64"):
            yield case("bernoulli_.float", dtype, numel, i, p=0.3)
    for i, numel in enumerate(SIZES):
        yield case("exponential_", "float32", numel, i, lambd=2.5)
    for op in ("uniform_", "normal_"):
        yield case(op, "float32", [8, 128], 1)
        yield case(op, "float32", [300, 70], 2, view="transposed")
        yield case(op, "float32", [300, 70], 2, view="every second column")
        yield case(op, "float32", [5, 30, 70], 2, view="channels last")


def inputs() -> Iterator[Case]:
    """Operators that read a tensor: `weights` of the type named."""
    for i, numel in enumerate([*SIZES, 2047, 2048, 2049, 2_500_000]):
        yield case("bernoulli.out", "float32", numel, i)
        yield case("bernoulli_.Tensor", "bool", numel, i, weights="float32")
        yield case("bernoulli_.Tensor", "float64", numel, i, weights="float32")
        for p in (0.1, 0.5):
            yield case("native_dropout", "float32", numel, i, p=p)
    for i, numel in enumerate([*FEW, 1000, 4096, 4098, 1_200_002, 600_008]):
        yield case("bernoulli_.Tensor", "float32", numel, i, weights="float64")
        yield case("bernoulli.out", "float16", numel, i)
        for dtype in ("float16", "bfloat16", "float64"):
            yield case("native_dropout", dtype, numel, i, p=0.1)
        for shift in (1, 2, 4):
            yield case("native_dropout", "float16", numel, i, p=0.1, shift=shift)
            yield case("native_dropout", "float32", numel, i, p=0.1, shift=shift)
    yield case("native_dropout", "float32", [300, 70], 1, p=0.1, view="transposed")
    yield case("native_dropout", "float32", [300, 70], 1, p=0.1, view="every second column")
    yield case("native_dropout", "float32", [300, 70], 1, p=0.0)
    yield case("native_dropout", "float32", [300, 70], 1, p=1.0)


def permutations() -> Iterator[Case]:
    for i, n in enumerate([*SIZES, 2, 10, 20_000, 22_000, 40_000, 100_000]):
        yield case("randperm", "int64", n, i)
    for n in (257, 30_000):
        yield case("randperm", "int32", n, 2)
        yield case("randperm", "float32", n, 2)
    for seed in range(40):  # of few elements, with keys of few bits: some draw equal keys
        for n in (3, 60):
            yield {**case("randperm", "int64", n), "seed": seed, "offset": 4 * seed}


def choices() -> Iterator[Case]:
    for i, (rows, columns) in enumerate([(1, 10), (1, 1000), (4, 257), (32, 5000), (300, 40), (2, 70_000)]):
        shape = [rows, columns] if rows > 1 else [columns]
        for dtype in ("float32", "float16", "float64"):
            yield case("multinomial", dtype, shape, i, num_samples=1, replacement=False)
            yield case("multinomial", dtype, shape, i, num_samples=5, replacement=False)
            yield case("multinomial", dtype, shape, i, num_samples=1, replacement=True)
            yield case("multinomial", dtype, shape, i, num_samples=130, replacement=True)


def is_worthwhile(row: Case) -> bool:
    return torch.Size(row["shape"]).numel() <= LARGE or (row["op"], row["dtype"]) in LARGE_TOO


def space(row: Case) -> torch.Tensor:
    """What an operator that draws in place fills."""
    shape, dtype = row["shape"], getattr(torch, row["dtype"])
    view = row["parameters"].get("view")
    if view == "transposed":
        return torch.empty(shape[::-1], dtype=dtype, device="cuda").t()
    if view == "every second column":
        return torch.empty([shape[0], 2 * shape[1]], dtype=dtype, device="cuda")[:, ::2]
    if view == "channels last":
        return torch.empty([shape[0], shape[2], shape[1]], dtype=dtype, device="cuda").transpose(1, 2)
    return torch.empty(shape, dtype=dtype, device="cuda")


def prepare(row: Case) -> Callable[[], torch.Tensor]:
    """The call, its inputs already on the device: making them must draw nothing."""
    op, shape, dtype = row["op"], row["shape"], getattr(torch, row["dtype"])
    given = {key: value for key, value in row["parameters"].items() if key not in ("view", "shift", "weights")}
    numel = torch.Size(shape).numel()
    if op == "randperm":
        return lambda: torch.randperm(numel, dtype=dtype, device="cuda")
    if op == "multinomial":
        probabilities = weights(numel, dtype, least=1).view(shape).cuda()
        return lambda: torch.multinomial(probabilities, **given)
    if op == "native_dropout":
        shift = row["parameters"].get("shift", 0)
        x = torch.ones(numel + shift, dtype=dtype, device="cuda")[shift:].view(shape)
        x = space(row).fill_(1) if "view" in row["parameters"] else x
        return lambda: torch.ops.aten.native_dropout(x, given["p"], True)[1]
    if op == "bernoulli.out":
        probabilities = weights(numel, dtype).view(shape).cuda()
        return lambda: torch.bernoulli(probabilities)
    target = space(row)
    if op == "bernoulli_.Tensor":
        probabilities = weights(numel, getattr(torch, row["parameters"]["weights"])).view(shape).cuda()
        return lambda: target.bernoulli_(probabilities)
    name, _, overload = op.partition(".")
    function = getattr(getattr(torch.ops.aten, name), overload or "default")
    return lambda: function(target, *given.values())


def fingerprint(result: torch.Tensor) -> Case:
    flat = result.cpu().contiguous().flatten()
    data = ctypes.string_at(flat.data_ptr(), flat.numel() * flat.element_size())
    found: Case = {"out": list(result.shape), "head": flat[:8].tolist(), "tail": flat[-8:].tolist()}
    return {**found, "crc": zlib.crc32(data), "sum": flat.double().sum().item()}


def record(row: Case) -> Case:
    call = prepare(row)
    generator = torch.cuda.default_generators[0]
    generator.manual_seed(row["seed"])
    generator.set_offset(row["offset"])
    try:
        result = call()
    except (RuntimeError, NotImplementedError) as error:
        return {**row, "error": str(error).splitlines()[0][:100]}
    return {**row, "after": generator.get_offset(), **fingerprint(result)}


def about() -> Case:
    device = torch.cuda.get_device_properties(0)
    facts = {"sms": device.multi_processor_count, "threads_per_sm": device.max_threads_per_multi_processor}
    return {"gpu": device.name, **facts, "torch": torch.__version__, "cuda": torch.version.cuda}


def main(argv: list[str]) -> int:
    cases = list(filter(is_worthwhile, (*integers(), *floats(), *inputs(), *permutations(), *choices())))
    with Path(argv[0]).open("w", encoding="utf-8") as out:
        for row in (about(), *map(record, cases)):
            out.write(json.dumps(row, separators=(",", ":")) + "\n")
    print(f"{len(cases)} calls recorded in {argv[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
