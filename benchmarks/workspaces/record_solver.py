"""Records what cuSOLVER's dense routines and cuSPARSE's products, solves and sorts ask for.

    python -m benchmarks.workspaces.record_solver FOLDER     writes FOLDER/solver.jsonl
    python -m benchmarks.workspaces.record_solver --dry-run

cuSOLVER's typed routines answer in elements (`count`), its generic ones (`X...`) in bytes on the device and on the
host. Routines without a size query (potrs, getrs, the batched Cholesky) need no workspace and are left out. The sparse
part is in `sparse_sizes.py`.
"""

from __future__ import annotations

import ctypes
import random
import sys
from collections.abc import Callable, Iterator

import torch

from benchmarks.workspaces import sparse_sizes
from benchmarks.workspaces.recording import Ask, Config, Library, run, shuffled

# Public names: CUDA_R_32F..., CUSOLVER_EIG_MODE_*, CUBLAS_SIDE_*, CUBLAS_OP_*.
DATA_TYPES = {"S": 0, "D": 1, "C": 4, "Z": 5}
REAL_TYPES = {"S": 0, "D": 1, "C": 0, "Z": 1}
COMPLEX_TYPES = {"S": 4, "D": 5, "C": 4, "Z": 5}

SIDES = [1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 100, 127, 128, 129, 160, 192, 200, 255, 256]
SIDES += [257, 300, 320, 384, 400, 500, 511, 512, 513, 600, 640, 700, 768, 900, 1000, 1023, 1024, 1025, 1280, 1500]
SIDES += [1536, 2000, 2047, 2048, 2049, 2500, 3000, 3072, 4000, 4096]
SQUARE = ("potrf", "sytrf", "syevd", "syevj", "syevjBatched", "Xpotrf", "Xsyevd", "XsyevBatched", "Xgeev", "Xsytrs")
TALL = ("getrf", "geqrf", "gesvd", "gesvdj", "gesvdjBatched", "gesvdaStridedBatched", "orgqr", "ormqr", "Xgeqrf")
CALLS = SQUARE + TALL
SMALL_ONLY = {"gesvdjBatched": 32}  # the library takes no larger matrices there


def dense(call: str, letter: str, rows: int, columns: int, draw: random.Random) -> Config:
    config: Config = {"call": call, "type": letter, "m": rows, "n": columns}
    if "Batched" in call:
        config["batch"] = draw.choice([1, 2, 3, 8, 16, 33, 64, 128, 500])
    if call.startswith(("syev", "Xsyev", "gesvd", "Xgeev")) and call != "gesvd":
        config["vectors"] = draw.random() < 0.7
    if call in SQUARE:
        config["upper"] = draw.random() < 0.4
    if call == "gesvdj":
        config["econ"] = draw.random() < 0.6
    if call in ("orgqr", "ormqr"):
        config["k"] = draw.randint(1, min(rows, columns))
    if call == "ormqr":
        config["left"], config["transposed"] = draw.random() < 0.7, draw.random() < 0.5
        config["k"] = draw.randint(1, rows if config["left"] else columns)
    if call == "Xsytrs":
        config["nrhs"] = draw.choice([1, 2, 16, 100])
    return config


def allowed(config: Config) -> bool:
    largest = SMALL_ONLY.get(str(config["call"]))
    if largest is not None and max(config["m"], config["n"]) > largest:
        return False
    if config["call"] == "orgqr" and config["n"] > config["m"]:
        return False
    return config["m"] * config["n"] * config.get("batch", 1) <= 2**27


def random_dense(call: str, draw: random.Random) -> Config:
    pool = [side for side in SIDES if side <= SMALL_ONLY.get(call, 4096)]
    rows = draw.choice(pool)
    columns = rows if call in SQUARE or draw.random() < 0.3 else draw.choice(pool)
    if "gesvd" in call and draw.random() < 0.7:
        rows, columns = max(rows, columns), min(rows, columns)
    if call == "orgqr":
        rows, columns = max(rows, columns), min(rows, columns)
    return dense(call, draw.choices("SDCZ", weights=[4, 2, 1, 1])[0], rows, columns, draw)


def denses(draw: random.Random) -> Iterator[Config]:
    """Every call over all square sizes in single precision, then at random: shapes, types, options."""
    for call in CALLS:
        ladder = [dense(call, "S", side, side, draw) for side in SIDES]
        yield from filter(allowed, [{**one, **({"batch": 8} if "batch" in one else {})} for one in ladder])
        yield from filter(allowed, (random_dense(call, draw) for _ in range(90)))


def configurations() -> list[Config]:
    draw = random.Random(9)
    unique = {str(one): one for one in [*denses(draw), *sparse_sizes.configurations(draw)]}
    return shuffled(unique.values())


class Dense:
    """cuSOLVER's size queries. They look at no data: one small allocation stands for every matrix."""

    def __init__(self) -> None:
        self.solver = Library("cusolver")
        self.handle = self.solver.create("cusolverDnCreate")
        self.parameters = self.solver.create("cusolverDnCreateParams")
        self.eigen = self.solver.create("cusolverDnCreateSyevjInfo")
        self.singular = self.solver.create("cusolverDnCreateGesvdjInfo")
        self.memory = torch.zeros(4096, dtype=torch.uint8, device="cuda")
        self.a = self.memory.data_ptr()

    def name(self, config: Config, real: str, hermitian: str | None = None) -> str:
        letter = str(config["type"])
        stem = hermitian if hermitian and letter in "CZ" else real
        return f"cusolverDn{letter}{stem}_bufferSize"

    def typed(self, name: str, codes: str, *arguments: object) -> dict[str, object]:
        """`codes` without the handle and with the count last."""
        return {"count": self.solver.count(name, "p" + codes, self.handle, *arguments)}

    def with_info(self, name: str, codes: str, *arguments: object, tail: tuple[object, ...]) -> dict[str, object]:
        """As `typed`, where the count is not the last argument."""
        count = ctypes.c_int()
        self.solver.call(name, "p" + codes, self.handle, *arguments, ctypes.byref(count), *tail)
        return {"count": count.value}

    def generic(self, name: str, codes: str, *arguments: object, tail: tuple[object, ...] = ()) -> dict[str, object]:
        """`codes` between the handle and the two sizes; `tail` holds 64-bit numbers after them."""
        device, host = ctypes.c_size_t(), ctypes.c_size_t()
        sizes = (ctypes.byref(device), ctypes.byref(host))
        self.solver.call(name, "p" + codes + "pp" + "l" * len(tail), self.handle, *arguments, *sizes, *tail)
        return {"device_bytes": device.value, "host_bytes": host.value}

    def factor(self, config: Config) -> dict[str, object]:
        m, n, a = config["m"], config["n"], self.a
        name = self.name(config, str(config["call"]))
        if config["call"] == "potrf":
            return self.typed(name, "iipip", int(config["upper"]), n, a, n)
        if config["call"] == "sytrf":
            return self.typed(name, "ipip", n, a, n)
        return self.typed(name, "iipip", m, n, a, m)

    def reflect(self, config: Config) -> dict[str, object]:
        m, n, k, a = config["m"], config["n"], config["k"], self.a
        if config["call"] == "orgqr":
            return self.typed(self.name(config, "orgqr", "ungqr"), "iiipipp", m, n, k, a, m, a)
        adjoint = 2 if config["type"] in "CZ" else 1
        operation = adjoint if config["transposed"] else 0
        order = m if config["left"] else n
        arguments = (0 if config["left"] else 1, operation, m, n, k, a, order, a, a, m)
        return self.typed(self.name(config, "ormqr", "unmqr"), "iiiiipippip", *arguments)

    def eigen_values(self, config: Config) -> dict[str, object]:
        call, a, n = str(config["call"]), self.a, config["n"]
        name = self.name(config, call, call.replace("sy", "he"))
        head = (int(config["vectors"]), int(config["upper"]), n, a, n, a)
        if call == "syevd":
            return self.typed(name, "iiipipp", *head)
        if call == "syevj":
            return self.with_info(name, "iiipippp", *head, tail=(self.eigen,))
        return self.with_info(name, "iiipipppi", *head, tail=(self.eigen, config["batch"]))

    def singular_values(self, config: Config) -> dict[str, object]:
        call, a, m, n = str(config["call"]), self.a, config["m"], config["n"]
        name = self.name(config, call)
        if call == "gesvd":
            return self.typed(name, "iip", m, n)
        job = int(config["vectors"])
        factors = (m, n, a, m, a, a, m, a, n)
        if call == "gesvdj":
            return self.with_info(name, "iiiipippipipp", job, int(config["econ"]), *factors, tail=(self.singular,))
        if call == "gesvdjBatched":
            tail = (self.singular, config["batch"])
            return self.with_info(name, "iiipippipippi", job, *factors, tail=tail)
        rank = min(m, n)
        strided = (job, rank, m, n, a, m, m * n, a, rank, a, m, m * rank, a, n, n * rank)
        return self.with_info(name, "iiiipilplpilpilpi", *strided, tail=(config["batch"],))

    def generic_call(self, config: Config) -> dict[str, object]:
        call, letter, m, n, a = str(config["call"]), str(config["type"]), config["m"], config["n"], self.a
        name = f"cusolverDn{call}_bufferSize"
        own, real = DATA_TYPES[letter], REAL_TYPES[letter]
        if call == "Xpotrf":
            return self.generic(name, "pilipli", self.parameters, int(config["upper"]), n, own, a, n, own)
        if call == "Xgeqrf":
            return self.generic(name, "plliplipi", self.parameters, m, n, own, a, m, own, a, own)
        if call == "Xsytrs":
            pivots = (a, own, a, n)
            return self.generic(name, "illiplpipl", int(config["upper"]), n, config["nrhs"], own, a, n, *pivots)
        job = int(config["vectors"])
        if call == "Xgeev":
            values, vectors = (COMPLEX_TYPES[letter], a), (own, a, n, own, a, n)
            arguments = (self.parameters, 0, job, n, own, a, n, *values, *vectors, own)
            return self.generic(name, "piiliplipiplipli", *arguments)
        arguments = (self.parameters, job, int(config["upper"]), n, own, a, n, real, a, own)
        tail = (config["batch"],) if call == "XsyevBatched" else ()
        return self.generic(name, "piiliplipi", *arguments, tail=tail)

    def question(self, call: str) -> Callable[[Config], dict[str, object]]:
        if call.startswith("X"):
            return self.generic_call
        if call in ("orgqr", "ormqr"):
            return self.reflect
        if call.startswith("syev"):
            return self.eigen_values
        return self.singular_values if call.startswith("gesvd") else self.factor

    def __call__(self, config: Config) -> dict[str, object]:
        return self.question(str(config["call"]))(config)


def start() -> Ask:
    dense_asker, sparse_asker = Dense(), sparse_sizes.Asker()
    return lambda config: (sparse_asker if "nnz" in config else dense_asker)(config)


def main(argv: list[str] | None = None) -> int:
    return run(name="solver", description=__doc__, configurations=configurations(), start=start, argv=argv)


if __name__ == "__main__":
    sys.exit(main())
