"""The sparse half of `record_solver.py`: cuSPARSE's buffer sizes over random CSR and COO matrices on the device."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator

import torch

from benchmarks.workspaces.recording import Config, Library

# Public names: CUDA_R_32F..., CUSPARSE_INDEX_32I/64I, CUSPARSE_ORDER_*, CUSPARSE_SPMAT_*, CUSPARSE_*_ALG*.
DATA_TYPES = {"S": 0, "D": 1, "C": 4, "Z": 5, "H": 2, "B": 14}
COMPUTE_TYPES = {**DATA_TYPES, "H": 0, "B": 0}
TORCH_TYPES = {
    "S": torch.float32,
    "D": torch.float64,
    "C": torch.complex64,
    "Z": torch.complex128,
    "H": torch.float16,
    "B": torch.bfloat16,
}
INDEX_TYPES = {32: (2, torch.int32), 64: (3, torch.int64)}
ORDERS = {"column": 1, "row": 2}
FILL_MODE, DIAG_TYPE = 0, 1
ALGORITHMS = {
    "SpMV": {"csr": [0, 2, 3], "coo": [0, 1, 4]},
    "SpMM": {"csr": [0, 4, 6, 12], "coo": [0, 1, 2, 3, 5]},
    "SDDMM": {"csr": [0]},
    "SpGEMM": {"csr": [0]},
    "SpSV": {"csr": [0]},
    "SpSM": {"csr": [0]},
    "csrsort": {"csr": [0]},
    "coosort": {"coo": [0]},
    "csr2csc": {"csr": [1]},
}
SORTS = ("csrsort", "coosort", "csr2csc")
COUNTS = {"SpMV": 90, "SpMM": 130, "SDDMM": 60, "SpGEMM": 80, "SpSV": 50, "SpSM": 70, **dict.fromkeys(SORTS, 40)}


def one(call: str, draw: random.Random) -> Config:
    rows = round(2 ** draw.uniform(1, 14))
    solves = call in ("SpSV", "SpSM")
    columns = rows if solves or draw.random() < 0.3 else round(2 ** draw.uniform(1, 14))
    nnz = min(rows * columns, round(2 ** draw.uniform(2, 18)), 2**14 if call == "SpGEMM" else 2**18)
    form = draw.choice(list(ALGORITHMS[call]))
    sorts = call in SORTS
    typed = "S" if sorts else draw.choices("SDCZHB", weights=[6, 3, 1, 1, *((0, 0) if solves else (1, 1))])[0]
    return {
        "call": call,
        "format": form,
        "type": typed,
        "index_bits": 32 if sorts or call == "SpGEMM" else draw.choice([32, 32, 64]),
        "m": rows,
        "k": columns,
        "n": draw.choice([1, 2, 3, 8, 16, 31, 32, 64, 100, 128, 256]),
        "nnz": nnz,
        "order": draw.choice(list(ORDERS)),
        "transposed": call in ("SpMV", "SpMM", "SpSV", "SpSM") and draw.random() < 0.25,
        "algo": draw.choice(ALGORITHMS[call][form]),
        "seed": draw.randrange(2**31),
    }


def configurations(draw: random.Random) -> Iterator[Config]:
    for call, count in COUNTS.items():
        yield from (one(call, draw) for _ in range(count))


class Matrix:
    """A random sparse matrix in device memory, with its descriptor."""

    def __init__(self, sparse: Library, config: Config, rows: int, columns: int, nnz: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        code, index = INDEX_TYPES[config["index_bits"]]
        places = torch.randint(0, rows * columns, (nnz,), generator=generator).unique()
        self.nnz = places.numel()
        self.columns = (places % columns).to(index).cuda()
        self.values = torch.ones(self.nnz, dtype=TORCH_TYPES[config["type"]]).cuda()
        self.coo_rows = (places // columns).to(index)
        edges = torch.zeros(rows + 1, dtype=torch.int64)
        edges[1:] = torch.bincount(self.coo_rows.long(), minlength=rows).cumsum(0)
        self.rows = (edges.to(index) if config["format"] == "csr" else self.coo_rows).cuda()
        self.descriptor = ctypes.c_void_p()
        out, value_type = ctypes.byref(self.descriptor), DATA_TYPES[config["type"]]
        arrays = (self.rows.data_ptr(), self.columns.data_ptr(), self.values.data_ptr())
        head = (out, rows, columns, self.nnz, *arrays)
        if config["format"] == "csr":
            sparse.call("cusparseCreateCsr", "plllpppiiii", *head, code, code, 0, value_type)
        else:
            sparse.call("cusparseCreateCoo", "plllpppiii", *head, code, 0, value_type)


class Asker:
    def __init__(self) -> None:
        self.sparse = Library("cusparse")
        self.handle = self.sparse.create("cusparseCreate")
        self.one = (ctypes.c_double * 2)(1.0, 0.0)
        self.keep: list[object] = []

    def scalar(self, config: Config) -> object:
        """1 in the compute type, on the host."""
        return (ctypes.c_float * 2)(1.0, 0.0) if COMPUTE_TYPES[config["type"]] in (0, 4) else self.one

    def zeros(self, config: Config, count: int) -> int:
        tensor = torch.zeros(max(1, count), dtype=TORCH_TYPES[config["type"]], device="cuda")
        self.keep.append(tensor)
        return tensor.data_ptr()

    def dense(self, config: Config, rows: int, columns: int) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        ld = columns if config["order"] == "row" else rows
        arguments = (rows, columns, ld, self.zeros(config, rows * columns), DATA_TYPES[config["type"]])
        self.sparse.call("cusparseCreateDnMat", "plllpii", ctypes.byref(made), *arguments, ORDERS[config["order"]])
        return made

    def vector(self, config: Config, count: int) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        arguments = (count, self.zeros(config, count), DATA_TYPES[config["type"]])
        self.sparse.call("cusparseCreateDnVec", "plpi", ctypes.byref(made), *arguments)
        return made

    def sort(self, config: Config, matrix: Matrix) -> dict[str, object]:
        sizes = (self.handle, config["m"], config["k"], matrix.nnz)
        arrays = (matrix.rows.data_ptr(), matrix.columns.data_ptr())
        if config["call"] != "csr2csc":
            name = f"cusparseX{config['call']}_bufferSizeExt"
            return {"bytes": self.sparse.size(name, "piiippp", *sizes, *arrays)}
        values, offsets = self.zeros(config, matrix.nnz), self.zeros(config, config["k"] + 1)
        source = (matrix.values.data_ptr(), *arrays)
        target = (values, offsets, self.zeros(config, matrix.nnz))
        tail = (DATA_TYPES[config["type"]], 1, 0, config["algo"])
        name, arguments = "cusparseCsr2cscEx2_bufferSize", (*sizes, *source, *target, *tail)
        return {"bytes": self.sparse.size(name, "piiippppppiiiip", *arguments)}

    def product(self, config: Config, matrix: Matrix) -> dict[str, object]:
        m, k, n, one_ = config["m"], config["k"], config["n"], self.scalar(config)
        operation, compute, algorithm = int(config["transposed"]), COMPUTE_TYPES[config["type"]], config["algo"]
        inner, outer = (m, k) if operation else (k, m)
        if config["call"] == "SpMV":
            x, y = self.vector(config, inner), self.vector(config, outer)
            arguments = (self.handle, operation, one_, matrix.descriptor, x, one_, y, compute, algorithm)
            return {"bytes": self.sparse.size("cusparseSpMV_bufferSize", "pipppppiip", *arguments)}
        if config["call"] == "SpMM":
            operands = (matrix.descriptor, self.dense(config, inner, n), one_, self.dense(config, outer, n))
            name = "cusparseSpMM_bufferSize"
        else:  # C (sparse) = A B
            operands = (self.dense(config, m, n), self.dense(config, n, k), one_, matrix.descriptor)
            name = "cusparseSDDMM_bufferSize"
        arguments = (self.handle, operation, 0, one_, *operands, compute, algorithm)
        return {"bytes": self.sparse.size(name, "piipppppiip", *arguments)}

    def solve(self, config: Config, matrix: Matrix) -> dict[str, object]:
        call, m, n = str(config["call"]), config["m"], config["n"]
        for attribute in (FILL_MODE, DIAG_TYPE):  # lower, non-unit
            value = ctypes.c_int(0)
            arguments = (matrix.descriptor, attribute, ctypes.byref(value), ctypes.sizeof(value))
            self.sparse.call("cusparseSpMatSetAttribute", "pipz", *arguments)
        state = self.sparse.create(f"cusparse{call}_createDescr")
        one_, compute, operation = self.scalar(config), COMPUTE_TYPES[config["type"]], int(config["transposed"])
        tail = (compute, config["algo"], state)
        try:
            if call == "SpSV":
                x, y = self.vector(config, m), self.vector(config, m)
                arguments = (self.handle, operation, one_, matrix.descriptor, x, y, *tail)
                return {"bytes": self.sparse.size("cusparseSpSV_bufferSize", "pippppiipp", *arguments)}
            operands = (matrix.descriptor, self.dense(config, m, n), self.dense(config, m, n))
            arguments = (self.handle, operation, 0, one_, *operands, *tail)
            return {"bytes": self.sparse.size("cusparseSpSM_bufferSize", "piippppiipp", *arguments)}
        finally:
            self.sparse.call(f"cusparse{call}_destroyDescr", "p", state)

    def sparse_product(self, config: Config, matrix: Matrix) -> dict[str, object]:
        """Both phases of SpGEMM, as PyTorch runs them: the second size depends on what the first finds."""
        right = Matrix(self.sparse, config, config["k"], config["m"], config["nnz"], config["seed"] + 1)
        target = ctypes.c_void_p()
        types = (2, 2, 0, DATA_TYPES[config["type"]])
        offsets = torch.zeros(config["m"] + 1, dtype=torch.int32, device="cuda")
        arguments = (config["m"], config["m"], 0, offsets.data_ptr(), None, None, *types)
        self.sparse.call("cusparseCreateCsr", "plllpppiiii", ctypes.byref(target), *arguments)
        state = self.sparse.create("cusparseSpGEMM_createDescr")
        one_, compute = self.scalar(config), COMPUTE_TYPES[config["type"]]
        operands = (matrix.descriptor, right.descriptor, one_, target)
        head = (self.handle, 0, 0, one_, *operands, compute, config["algo"], state)
        answers: dict[str, object] = {"nnz_right": right.nnz}
        try:
            for name in ("workEstimation", "compute"):
                size = ctypes.c_size_t()
                call = (f"cusparseSpGEMM_{name}", "piipppppiippp", *head, ctypes.byref(size))
                self.sparse.call(*call, None)
                answers[f"{name}_bytes"] = size.value
                buffer = torch.empty(max(1, size.value), dtype=torch.uint8, device="cuda")
                self.keep.append(buffer)
                self.sparse.call(*call, buffer.data_ptr())
                answers[f"{name}_bytes_after"] = size.value
            rows, columns, entries = ctypes.c_int64(), ctypes.c_int64(), ctypes.c_int64()
            found = (ctypes.byref(rows), ctypes.byref(columns), ctypes.byref(entries))
            self.sparse.call("cusparseSpMatGetSize", "pppp", target, *found)
            answers["nnz_product"] = entries.value
        finally:
            torch.cuda.synchronize()
            self.sparse.call("cusparseSpGEMM_destroyDescr", "p", state)
            self.sparse.call("cusparseDestroySpMat", "p", target)
            self.sparse.call("cusparseDestroySpMat", "p", right.descriptor)
        return answers

    def __call__(self, config: Config) -> dict[str, object]:
        matrix = Matrix(self.sparse, config, config["m"], config["k"], config["nnz"], config["seed"])
        kinds = {"SpGEMM": self.sparse_product, "SpSV": self.solve, "SpSM": self.solve}
        products = dict.fromkeys(("SpMV", "SpMM", "SDDMM"), self.product)
        try:
            answers = {**kinds, **products}.get(str(config["call"]), self.sort)(config, matrix)
        finally:
            self.sparse.call("cusparseDestroySpMat", "p", matrix.descriptor)
            self.keep.clear()
        return {"nnz_made": matrix.nnz, **answers}
