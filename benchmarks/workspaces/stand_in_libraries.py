"""The built stand-ins for cuFFT, cuSOLVER and cuSPARSE, asked for the sizes of recorded configurations.

    python -m benchmarks.workspaces.stand_in_libraries FOLDER < ROWS > ANSWERS

`score_libraries.py` starts it. FOLDER holds the built libraries; one JSON line per recorded row, and one per answer.
PyTorch is not needed.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

# Public names: CUDA_R_32F..., as (real, complex) for transforms and by BLAS letter (H, B: the two half precisions).
FFT_TYPES = {"float": (0, 4), "double": (1, 5), "half": (2, 6)}
DATA_TYPES = {"S": 0, "D": 1, "C": 4, "Z": 5, "H": 2, "B": 14}
COMPUTE_TYPES = {**DATA_TYPES, "H": 0, "B": 0}
REAL_TYPES = {"S": 0, "D": 1, "C": 0, "Z": 1}
COMPLEX_TYPES = {"S": 4, "D": 5, "C": 4, "Z": 5}
SONAMES = {"cufft": "libcufft.so.12", "cusolver": "libcusolver.so.12", "cusparse": "libcusparse.so.12"}
C_TYPES = {"p": ctypes.c_void_p, "i": ctypes.c_int, "l": ctypes.c_longlong}

Row = dict[str, object]


class RefusedError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


class Libraries:
    """The built stand-ins, called with every pointer to data NULL: sizes look at no data."""

    def __init__(self, folder: Path) -> None:
        ctypes.CDLL(str(folder / "libveritasest.so"), mode=ctypes.RTLD_GLOBAL)
        self._loaded = {name: ctypes.CDLL(str(folder / "cu13" / soname)) for name, soname in SONAMES.items()}
        self.solver = self.create("cusolverDnCreate")
        self.sparse = self.create("cusparseCreate")

    def call(self, name: str, codes: str, *arguments: object) -> None:
        """One letter of `codes` per argument, as in C_TYPES."""
        function = getattr(next(library for prefix, library in self._loaded.items() if name.startswith(prefix)), name)
        function.argtypes = [C_TYPES[code] for code in codes]
        status = function(*arguments)
        if status != 0:
            raise RefusedError(status)

    def create(self, name: str) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self.call(name, "p", ctypes.byref(made))
        return made

    def size(self, name: str, codes: str, *arguments: object) -> int:
        """What a call writes to its last argument, a `size_t *`, which is added here."""
        answer = ctypes.c_size_t(0)
        self.call(name, codes + "p", *arguments, ctypes.byref(answer))
        return answer.value

    def fft(self, row: Row) -> Row:
        real, complex_ = FFT_TYPES[row["dtype"]]
        points = (ctypes.c_longlong * len(row["n"]))(*row["n"])
        plain = (None, 1, 1)
        layouts = (points, row["batch"], 1), (points, 1, row["n"][0])
        into, out = layouts if row["strided"] else (plain, plain)
        source = real if row["kind"] == "R2C" else complex_
        target = real if row["kind"] == "C2R" else complex_
        handle, work = ctypes.c_int(), ctypes.c_size_t()
        self.call("cufftCreate", "p", ctypes.byref(handle))
        self.call("cufftSetAutoAllocation", "ii", handle.value, 0)
        arguments = (handle.value, len(row["n"]), points, *into, source, *out, target)
        tail = (row["batch"], ctypes.byref(work), complex_)
        self.call("cufftXtMakePlanMany", "iippllipllilpi", *arguments, *tail)
        self.call("cufftDestroy", "i", handle.value)
        return {"bytes": work.value}

    def typed(self, row: Row, stem: str, codes: str, *arguments: object) -> Row:
        """A routine with a BLAS letter; `c` in `codes` is where the count goes."""
        count = ctypes.c_int(0)
        places = iter(arguments)
        full = [ctypes.byref(count) if code == "c" else next(places) for code in codes]
        name = f"cusolverDn{row['type']}{stem}_bufferSize"
        self.call(name, "p" + codes.replace("c", "p"), self.solver, *full)
        return {"count": count.value}

    def generic(self, row: Row, codes: str, *arguments: object, tail: tuple[int, ...] = ()) -> Row:
        device, host = ctypes.c_size_t(0), ctypes.c_size_t(0)
        sizes = (ctypes.byref(device), ctypes.byref(host))
        name = f"cusolverDn{row['call']}_bufferSize"
        self.call(name, f"p{codes}pp{'l' * len(tail)}", self.solver, *arguments, *sizes, *tail)
        return {"device_bytes": device.value}

    def dense(self, row: Row) -> Row:
        call, m, n = str(row["call"]), row["m"], row["n"]
        is_complex = row["type"] in "CZ"
        upper, vectors, batch = int(row.get("upper", 0)), int(row.get("vectors", 0)), row.get("batch")
        factors = (m, n, None, m, None, None, m, None, n)
        eigen = (vectors, upper, n, None, n, None)
        ev = call.replace("sy", "he") if is_complex else call
        rank = min(m, n)
        strided = (vectors, rank, m, n, None, m, m * n, None, rank, None, m, m * rank, None, n, n * rank)
        side = int(not row.get("left", True))
        questions: dict[str, Callable[[], Row]] = {
            "potrf": lambda: self.typed(row, call, "iipic", upper, n, None, n),
            "sytrf": lambda: self.typed(row, call, "ipic", n, None, n),
            "getrf": lambda: self.typed(row, call, "iipic", m, n, None, m),
            "geqrf": lambda: self.typed(row, call, "iipic", m, n, None, m),
            "orgqr": lambda: self.typed(row, "ungqr" if is_complex else call, "iiipipc", m, n, row["k"], None, m, None),
            "ormqr": lambda: self.typed(
                row, "unmqr" if is_complex else call, "iiiiipippic", side, 0, m, n, row["k"], None, m, None, None, m
            ),
            "syevd": lambda: self.typed(row, ev, "iiipipc", *eigen),
            "syevj": lambda: self.typed(row, ev, "iiipipcp", *eigen, None),
            "syevjBatched": lambda: self.typed(row, ev, "iiipipcpi", *eigen, None, batch),
            "gesvd": lambda: self.typed(row, call, "iic", m, n),
            "gesvdj": lambda: self.typed(row, call, "iiiipippipicp", vectors, int(row["econ"]), *factors, None),
            "gesvdjBatched": lambda: self.typed(row, call, "iiipippipicpi", vectors, *factors, None, batch),
            "gesvdaStridedBatched": lambda: self.typed(row, call, "iiiipilplpilpilci", *strided, batch),
        }
        return questions.get(call, lambda: self.general(row))()

    def general(self, row: Row) -> Row:
        call, m, n = str(row["call"]), row["m"], row["n"]
        own, real = DATA_TYPES[str(row["type"])], REAL_TYPES[str(row["type"])]
        upper, vectors = int(row.get("upper", 0)), int(row.get("vectors", 0))
        if call == "Xpotrf":
            return self.generic(row, "pilipli", None, upper, n, own, None, n, own)
        if call == "Xgeqrf":
            return self.generic(row, "plliplipi", None, m, n, own, None, m, own, None, own)
        if call == "Xsytrs":
            return self.generic(row, "illiplpipl", upper, n, row["nrhs"], own, None, n, None, own, None, n)
        if call == "Xgeev":
            values, sides = (COMPLEX_TYPES[str(row["type"])], None), (own, None, n, own, None, n)
            return self.generic(row, "piiliplipiplipli", None, 0, vectors, n, own, None, n, *values, *sides, own)
        arguments = (None, vectors, upper, n, own, None, n, real, None, own)
        return self.generic(row, "piiliplipi", *arguments, tail=(row["batch"],) if call == "XsyevBatched" else ())

    def described(self, row: Row, rows: int, columns: int, entries: int) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        head = (ctypes.byref(made), rows, columns, entries, None, None, None)
        index, value = (3 if row["index_bits"] == 64 else 2), DATA_TYPES[str(row["type"])]
        if row["format"] == "csr":
            self.call("cusparseCreateCsr", "plllpppiiii", *head, index, index, 0, value)
        else:
            self.call("cusparseCreateCoo", "plllpppiii", *head, index, 0, value)
        return made

    def dense_operand(self, row: Row, rows: int, columns: int) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        by_rows = row["order"] == "row"
        arguments = (ctypes.byref(made), rows, columns, columns if by_rows else rows, None)
        self.call("cusparseCreateDnMat", "plllpii", *arguments, DATA_TYPES[str(row["type"])], 2 if by_rows else 1)
        return made

    def sparse_call(self, row: Row) -> Row:
        call, m, k, n = str(row["call"]), row["m"], row["k"], row["n"]
        op, compute, algorithm = int(row["transposed"]), COMPUTE_TYPES[str(row["type"])], row["algo"]
        if call in ("csrsort", "coosort"):
            name = f"cusparseX{call}_bufferSizeExt"
            return {"bytes": self.size(name, "piiipp", self.sparse, m, k, row["nnz_made"], None, None)}
        # A refused row was not made; what refuses it are types and options, not the number of entries.
        matrix = self.described(row, m, k, int(row.get("nnz_made", row["nnz"])))
        name = f"cusparse{call}_bufferSize"
        inner, outer = (m, k) if op else (k, m)
        if call == "SpMV":
            arguments = (self.sparse, op, None, matrix, None, None, None, compute, algorithm)
            return {"bytes": self.size(name, "pipppppii", *arguments)}
        if call == "SpSV":
            arguments = (self.sparse, op, None, matrix, None, None, compute, algorithm, None)
            return {"bytes": self.size(name, "pippppiip", *arguments)}
        if call == "SpSM":
            operands = (matrix, self.dense_operand(row, m, n), None)
            return {"bytes": self.size(name, "piippppiip", self.sparse, op, 0, None, *operands, compute, 0, None)}
        if call == "SpGEMM":
            return self.sparse_product(row, matrix)
        operands = (matrix, self.dense_operand(row, inner, n), None, self.dense_operand(row, outer, n))
        if call == "SDDMM":
            operands = (self.dense_operand(row, m, n), self.dense_operand(row, n, k), None, matrix)
        arguments = (self.sparse, op, 0, None, *operands, compute, algorithm)
        return {"bytes": self.size(name, "piipppppii", *arguments)}

    def sparse_product(self, row: Row, left: ctypes.c_void_p) -> Row:
        right = self.described(row, int(row["k"]), int(row["m"]), int(row.get("nnz_right", row["nnz"])))
        target, size = self.described(row, int(row["m"]), int(row["m"]), 0), ctypes.c_size_t()
        answers: Row = {}
        for phase in ("workEstimation", "compute"):
            arguments = (self.sparse, 0, 0, None, left, right, None, target, COMPUTE_TYPES[str(row["type"])], 0, None)
            self.call(f"cusparseSpGEMM_{phase}", "piipppppiippp", *arguments, ctypes.byref(size), None)
            answers[f"{phase}_bytes"] = size.value
        return answers

    def ask(self, row: Row) -> Row:
        question = self.fft if row["call"] == "fft" else self.sparse_call if "nnz" in row else self.dense
        try:
            return {"status": 0, **question(row)}
        except RefusedError as refused:
            return {"status": refused.status}


def answer_rows(folder: Path, trace: Path) -> None:
    """From standard input to standard output. A library logs a guess once per process, so each row has its own."""
    trace.touch()  # before the libraries are loaded: they never create it
    libraries = Libraries(folder)
    for text in sys.stdin:
        read, write = os.pipe()
        before = trace.stat().st_size
        child = os.fork()
        if child == 0:
            os.write(write, json.dumps(libraries.ask(json.loads(text))).encode())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(write)
        with open(read) as answer, trace.open() as log:
            log.seek(before)
            print(json.dumps({**json.loads(answer.read()), "guessed": '"unmodelled"' in log.read()}))


if __name__ == "__main__":
    answer_rows(Path(sys.argv[1]), Path(sys.argv[2]))
