"""Records cuFFT's work areas, planned as PyTorch plans (ATen/native/cuda/CuFFTPlanCache.h): no automatic allocation.

    python -m benchmarks.workspaces.record_fft FOLDER        writes FOLDER/fft.jsonl
    python -m benchmarks.workspaces.record_fft --dry-run

Contiguous signals are planned without embeddings. `strided` is a transform over the first dimension of a contiguous
(points, batch) tensor: the input is read in steps of the batch, the output is contiguous.
"""

from __future__ import annotations

import ctypes
import math
import random
import sys
from collections.abc import Iterator
from contextlib import suppress

from benchmarks.workspaces.recording import Ask, Config, Library, RefusedError, run, shuffled, wides

# Public names: CUDA_R_32F... (library_types.h), as (real, complex).
DATA_TYPES = {"float": (0, 4), "double": (1, 5), "half": (2, 6)}
KINDS = ("C2C", "R2C", "C2R")
MOST_POINTS = 2**26

POWERS = [2**k for k in range(24)]
SMOOTH = [3, 6, 9, 10, 12, 15, 20, 24, 30, 36, 60, 81, 96, 100, 120, 125, 160, 192, 200, 210, 224, 240, 243, 320, 343]
SMOOTH += [360, 400, 480, 500, 512, 600, 625, 640, 720, 768, 800, 960, 1000, 1200, 1280, 1536, 1920, 2000, 2187, 2401]
SMOOTH += [3000, 3125, 4000, 5000, 6000, 6561, 7000, 8000, 10000, 12000, 15000, 16000, 16807, 20000, 22050, 24000]
SMOOTH += [32000, 44100, 48000, 65610, 80000, 100000, 120000, 160000, 200000, 250000, 480000, 500000, 1000000, 1440000]
PRIMES = [5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 61, 67, 97, 101, 127, 131, 137, 149, 191, 211, 251, 257, 307, 401, 503]
PRIMES += [509, 521, 607, 701, 809, 997, 1009, 1021, 1031, 1499, 2003, 2039, 2053, 3001, 4093, 4099, 5003, 6007, 8191]
PRIMES += [8209, 10007, 16381, 20011, 32771, 50021, 65537, 100003]
ODD = [22, 26, 33, 34, 35, 39, 51, 77, 91, 121, 129, 143, 169, 221, 255, 289, 323, 361, 401 * 2, 441, 509 * 2, 1001]
ODD += [1023, 1025, 1331, 1999 * 2, 2197, 2047, 4095, 4097, 6859, 10001, 12167, 16383, 16385, 22051, 44099, 44101]
ODD += [65535, 99999, 131 * 131]
SIDES = [1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 14, 16, 17, 20, 24, 25, 28, 31, 32, 33, 37, 48, 50, 56, 63, 64, 65, 80]
SIDES += [96, 97, 100, 112, 120, 127, 128, 129, 131, 137, 160, 192, 200, 224, 240, 251, 256, 257, 320, 384, 401, 512]
SIDES += [521, 640, 720, 768, 1000, 1024, 1080, 2048]


def plan(points: list[int], batch: int, kind: str, dtype: str, *, strided: bool = False) -> Config:
    return {"call": "fft", "n": points, "batch": batch, "kind": kind, "dtype": dtype, "strided": strided}


def single() -> Iterator[Config]:
    """One dimension, batch 1 and the same in a batch: every size once in float, in turns as C2C, R2C and C2R."""
    for index, points in enumerate(sorted({*POWERS, *SMOOTH, *PRIMES, *ODD})):
        yield plan([points], 1, KINDS[index % 3], "float")
        yield plan([points], (2, 7, 16, 64, 100)[index % 5], KINDS[(index + 1) % 3], "float")


def random_plan(draw: random.Random) -> Config:
    rank = draw.choices([1, 2, 3], weights=[3, 5, 3])[0]
    dtype = draw.choices(list(DATA_TYPES), weights=[6, 3, 1.5])[0]
    kind = draw.choice(KINDS)
    pool = draw.choice([POWERS[:20], SMOOTH, PRIMES, ODD]) if rank == 1 else SIDES
    if dtype == "half":
        pool = POWERS[:14] if rank == 1 else POWERS[:10]
    points = [draw.choice(pool) for _ in range(rank)]
    if draw.random() < 0.3:
        points = [points[0]] * rank
    batch = draw.choice([1, 1, 2, 3, 4, 8, 13, 32, 64, 128, 256, 1000])
    strided = rank == 1 and batch > 1 and dtype != "half" and kind != "C2R" and draw.random() < 0.3
    return plan(points, batch, kind, dtype, strided=strided)


def configurations() -> list[Config]:
    draw = random.Random(5)
    found = {str(one): one for one in single()}
    while len(found) < 1300:
        one = random_plan(draw)
        if math.prod(one["n"]) * one["batch"] <= MOST_POINTS:
            found[str(one)] = one
    return shuffled(one for one in found.values() if math.prod(one["n"]) * one["batch"] <= MOST_POINTS)


def layouts(config: Config) -> tuple[tuple[object, int, int], tuple[object, int, int]]:
    """Embedding, stride and distance of the input and of the output."""
    if not config["strided"]:
        return (None, 1, 1), (None, 1, 1)
    points = config["n"][0]
    one_sided = points // 2 + 1 if config["kind"] == "R2C" else points
    return (wides([points]), config["batch"], 1), (wides([points]), 1, one_sided)


class Asker:
    def __init__(self) -> None:
        self.cufft = Library("cufft")

    def __call__(self, config: Config) -> dict[str, object]:
        handle = ctypes.c_int()
        self.cufft.call("cufftCreate", "p", ctypes.byref(handle))
        try:
            self.cufft.call("cufftSetAutoAllocation", "ii", handle.value, 0)
            return {"bytes": self.make(handle.value, config)}
        finally:
            with suppress(RefusedError):  # a plan that could not be made may be gone already
                self.cufft.call("cufftDestroy", "i", handle.value)

    def make(self, handle: int, config: Config) -> int:
        real, complex_ = DATA_TYPES[config["dtype"]]
        source = real if config["kind"] == "R2C" else complex_
        target = real if config["kind"] == "C2R" else complex_
        into, out = layouts(config)
        work = ctypes.c_size_t()
        arguments = (handle, len(config["n"]), wides(config["n"]), *into, source, *out, target)
        tail = (config["batch"], ctypes.byref(work), complex_)
        self.cufft.call("cufftXtMakePlanMany", "iippllipllilpi", *arguments, *tail)
        return work.value


def start() -> Ask:
    return Asker()


def main(argv: list[str] | None = None) -> int:
    return run(name="fft", description=__doc__, configurations=configurations(), start=start, argv=argv)


if __name__ == "__main__":
    sys.exit(main())
