"""Records what cuDNN asks for recurrent networks: weight space, workspace, reserve, and where the weights lie.

    python -m benchmarks.workspaces.record_rnn FOLDER        writes FOLDER/rnn.jsonl
    python -m benchmarks.workspaces.record_rnn --dry-run

The descriptors are set as PyTorch sets them (ATen/cudnn/Descriptors.h, ATen/native/cudnn/RNN.cpp): padded input has
equal lengths and CUDNN_RNN_PADDED_IO_ENABLED, packed input has falling lengths and the flag off. A part of the
configurations is random; another moves one thing at a time around an LSTM of two layers of 650, batch 16, 70 steps.
`training` and `inference` are workspace and reserve in bytes; `offsets` is where each matrix and bias lies.
"""

from __future__ import annotations

import ctypes
import random
import sys
from collections.abc import Iterator

import torch

from benchmarks.workspaces.recording import Ask, Config, Library, attempt, ints, run, shuffled

# Public names: CUDNN_RNN_RELU..., CUDNN_RNN_ALGO_*, CUDNN_DATA_*, cudnnMathType_t, cudnnRNNDataLayout_t.
MODES = {"RELU": 0, "TANH": 1, "LSTM": 2, "GRU": 3}
MATRICES = {"RELU": 2, "TANH": 2, "LSTM": 8, "GRU": 6}  # without the projection's
ALGORITHMS = {"standard": 0, "persist_static": 1, "persist_dynamic": 2, "persist_small_h": 3}
DATA_TYPES = {"fp32": 0, "fp64": 1, "fp16": 2, "bf16": 9}
DEFAULT_MATH, TENSOR_OP_MATH, FMA_MATH = 0, 1, 3
DOUBLE_BIAS, LINEAR_INPUT = 2, 0
UNPACKED, PACKED = 0, 1
INFERENCE, TRAINING = 0, 1

BASE: Config = {
    "call": "rnn",
    "mode": "LSTM",
    "algo": "standard",
    "layers": 2,
    "bidirectional": False,
    "input": 650,
    "hidden": 650,
    "projection": 0,
    "dropout": 0.5,
    "batch": 16,
    "steps": 70,
    "dtype": "fp32",
    "tf32": True,
    "padded_io": True,
    "lengths": None,
}
HIDDEN = [8, 16, 32, 63, 64, 65, 96, 128, 160, 192, 193, 256, 384, 385, 512, 640, 649, 651, 652, 656, 704, 768, 1000]
HIDDEN += [1024, 1025, 1280, 1536, 2000, 2047, 2048]
AROUND: dict[str, list[object]] = {
    "mode": list(MODES),
    "algo": list(ALGORITHMS),
    "layers": [1, 2, 3, 4, 5, 8],
    "bidirectional": [False, True],
    "input": [1, 8, 32, 64, 100, 127, 128, 129, 256, 512, 640, 649, 651, 656, 1024, 2048],
    "hidden": HIDDEN,
    "projection": [0, 8, 64, 100, 325, 512, 649],
    "dropout": [0.0, 0.1, 0.5],
    "batch": [1, 2, 3, 4, 7, 8, 12, 15, 17, 24, 31, 32, 33, 48, 64, 80, 96, 100, 127, 128, 129, 192, 255, 256],
    "steps": [1, 2, 3, 5, 7, 8, 16, 31, 32, 33, 64, 69, 71, 100, 127, 128, 129, 200, 256, 400, 511, 512],
    "dtype": list(DATA_TYPES),
    "tf32": [True, False],
    "padded_io": [True, False],
}


def one_at_a_time(base: Config) -> Iterator[Config]:
    for name, values in AROUND.items():
        for value in values:
            if name != "projection" or base["mode"] == "LSTM" or value == 0:
                yield {**base, name: value}


def packed_lengths(batch: int, steps: int, draw: random.Random) -> list[int]:
    """Falling, the longest first, as PackedSequence sorts them."""
    return [steps, *sorted((draw.randint(1, steps) for _ in range(batch - 1)), reverse=True)]


def structured() -> Iterator[Config]:
    draw = random.Random(11)
    yield from one_at_a_time(BASE)
    yield from one_at_a_time({**BASE, "mode": "GRU", "layers": 1, "dropout": 0.0})
    yield from one_at_a_time({**BASE, "dtype": "fp16"})
    yield from one_at_a_time({**BASE, "hidden": 128, "algo": "persist_small_h"})
    for batch, steps in [(16, 70), (4, 5), (1, 20), (32, 100), (17, 33), (64, 12)]:
        for lengths in ([steps] * batch, packed_lengths(batch, steps, draw), packed_lengths(batch, steps, draw)):
            yield {**BASE, "batch": batch, "steps": steps, "padded_io": False, "lengths": lengths}


def awkward(draw: random.Random, low: int, high: int) -> int:
    """Log-uniform; half of the time a multiple of 8."""
    value = round(2 ** draw.uniform(low, high))
    return max(8, value // 8 * 8) if draw.random() < 0.5 else value


def algorithm(draw: random.Random, mode: str, hidden: int, *, plain: bool) -> str:
    """Mostly the one that PyTorch would take, the rest to see what the others answer."""
    if plain and draw.random() < 0.6:
        small = 384 if mode in ("RELU", "TANH") else 192
        return "persist_small_h" if hidden <= small else "standard"
    return draw.choices(list(ALGORITHMS), weights=[6, 2, 0.3, 2])[0]


def random_configuration(draw: random.Random) -> Config:
    mode = draw.choices(list(MODES), weights=[1, 1, 4, 2])[0]
    hidden, batch, steps = awkward(draw, 3, 11), awkward(draw, 0, 8), awkward(draw, 0, 9)
    layers, bidirectional = draw.randint(1, 4), draw.random() < 0.4
    packed = draw.random() < 0.25
    projection = draw.randint(1, hidden - 1) if mode == "LSTM" and hidden > 8 and draw.random() < 0.15 else 0
    plain = not packed and not projection
    return {
        "call": "rnn",
        "mode": mode,
        "algo": algorithm(draw, mode, hidden, plain=plain) if plain else "standard",
        "layers": layers,
        "bidirectional": bidirectional,
        "input": awkward(draw, 3, 11),
        "hidden": hidden,
        "projection": projection,
        "dropout": draw.choice([0.0, 0.5]),
        "batch": batch,
        "steps": steps,
        "dtype": draw.choices(list(DATA_TYPES), weights=[4, 0.3, 3, 3])[0],
        "tf32": draw.random() < 0.8,
        "padded_io": not packed,
        "lengths": packed_lengths(batch, steps, draw) if packed else None,
    }


def configurations() -> list[Config]:
    draw = random.Random(7)
    unique = {str(one): one for one in [*structured(), *(random_configuration(draw) for _ in range(700))]}
    return shuffled({**one, "weights": index % 10 == 0} for index, one in enumerate(unique.values()))


def math_type(config: Config) -> int:
    if config["dtype"] == "fp16":
        return TENSOR_OP_MATH
    return DEFAULT_MATH if config["tf32"] else FMA_MATH


class Asker:
    """A cuDNN handle, descriptors that are set anew for each configuration, and random states for dropout."""

    def __init__(self) -> None:
        self.cudnn = Library("cudnn")
        self.handle = self.cudnn.create("cudnnCreate")
        self.rnn = self.cudnn.create("cudnnCreateRNNDescriptor")
        self.data = self.cudnn.create("cudnnCreateRNNDataDescriptor")
        self.dropouts: dict[object, ctypes.c_void_p] = {}
        self.matrix = self.cudnn.create("cudnnCreateTensorDescriptor")
        self.bias = self.cudnn.create("cudnnCreateTensorDescriptor")
        state_bytes = self.cudnn.size("cudnnDropoutGetStatesSize", "pp", self.handle)
        self.states = torch.zeros(state_bytes, dtype=torch.uint8, device="cuda")

    def dropout(self, rate: float) -> ctypes.c_void_p:
        if rate not in self.dropouts:
            made = self.dropouts[rate] = self.cudnn.create("cudnnCreateDropoutDescriptor")
            states = (self.states.data_ptr(), self.states.numel()) if rate else (None, 0)
            self.cudnn.call("cudnnSetDropoutDescriptor", "ppfpzU", made, self.handle, rate, *states, 0)
        return self.dropouts[rate]

    def describe(self, config: Config) -> None:
        dtype = DATA_TYPES[config["dtype"]]
        precision = DATA_TYPES["fp32"] if config["dtype"] in ("fp16", "bf16") else dtype
        self.cudnn.call(
            "cudnnSetRNNDescriptor_v8",
            "piiiiiiiiiiiipu",
            self.rnn,
            ALGORITHMS[config["algo"]],
            MODES[config["mode"]],
            DOUBLE_BIAS,
            int(config["bidirectional"]),
            LINEAR_INPUT,
            dtype,
            precision,
            math_type(config),
            config["input"],
            config["hidden"],
            config["projection"] or config["hidden"],
            config["layers"],
            self.dropout(config["dropout"]),
            int(config["padded_io"]),
        )
        lengths = config["lengths"] or [config["steps"]] * config["batch"]
        layout = UNPACKED if config["lengths"] is None else PACKED
        sizes = (config["steps"], config["batch"], config["input"])
        self.cudnn.call("cudnnSetRNNDataDescriptor", "piiiiipp", self.data, dtype, layout, *sizes, ints(lengths), None)

    def temporary(self, mode: int) -> list[int]:
        """Workspace and reserve. Inference has no reserve: PyTorch passes no pointer for it."""
        work, reserve = ctypes.c_size_t(), ctypes.c_size_t()
        second = ctypes.byref(reserve) if mode == TRAINING else None
        arguments = (self.handle, self.rnn, mode, self.data, ctypes.byref(work), second)
        self.cudnn.call("cudnnGetRNNTempSpaceSizes", "ppippp", *arguments)
        return [work.value, reserve.value]

    def weights(self, config: Config, weight_bytes: int) -> list[list[int | None]]:
        """Offsets: pseudo layer, linear layer, matrix, bias (None: there is none)."""
        space = torch.empty(weight_bytes, dtype=torch.uint8, device="cuda")
        matrices = MATRICES[config["mode"]] + (1 if config["projection"] else 0)
        rows = []
        for layer in range(config["layers"] * (2 if config["bidirectional"] else 1)):
            for linear in range(matrices):
                matrix, bias = ctypes.c_void_p(), ctypes.c_void_p()
                where = (self.handle, self.rnn, layer, weight_bytes, space.data_ptr(), linear)
                found = (self.matrix, ctypes.byref(matrix), self.bias, ctypes.byref(bias))
                self.cudnn.call("cudnnGetRNNWeightParams", "ppizpipppp", *where, *found)
                rows.append([layer, linear, *(one.value and one.value - space.data_ptr() for one in (matrix, bias))])
        return rows

    def __call__(self, config: Config) -> dict[str, object]:
        self.describe(config)
        answers: dict[str, object] = {}
        attempt(
            answers, "weight_bytes", lambda: self.cudnn.size("cudnnGetRNNWeightSpaceSize", "ppp", self.handle, self.rnn)
        )
        attempt(answers, "training", lambda: self.temporary(TRAINING))
        attempt(answers, "inference", lambda: self.temporary(INFERENCE))
        weight_bytes = answers["weight_bytes"]
        if config["weights"] and isinstance(weight_bytes, int):
            attempt(answers, "offsets", lambda: self.weights(config, weight_bytes))
        return answers


def start() -> Ask:
    return Asker()


def main(argv: list[str] | None = None) -> int:
    return run(name="rnn", description=__doc__, configurations=configurations(), start=start, argv=argv)


if __name__ == "__main__":
    sys.exit(main())
