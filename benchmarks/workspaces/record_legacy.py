"""Records cuDNN's other size queries that need a handle: dropout, CTC loss, batch normalisation.

    python -m benchmarks.workspaces.record_legacy FOLDER     writes FOLDER/legacy.jsonl
    python -m benchmarks.workspaces.record_legacy --dry-run

PyTorch asks batch normalisation with operation BN, in mode SPATIAL_PERSISTENT for channels-last training and SPATIAL
otherwise (ATen/native/cudnn/BatchNorm.cpp); CTC with softmax normalisation, through the old call for labels on the host
and through `_v8` for labels on the device, there with a longest label of 255 (ATen/native/cudnn/LossCTC.cpp).
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator

from benchmarks.workspaces.recording import Ask, Config, Library, attempt, ints, run, shuffled

# Public names: CUDNN_DATA_*, CUDNN_BATCHNORM_*, CUDNN_BATCHNORM_OPS_*, CUDNN_ACTIVATION_*, CUDNN_CTC_*.
DATA_TYPES = {"fp32": 0, "fp64": 1, "fp16": 2, "bf16": 9}
NORM_MODES = {"per_activation": 0, "spatial": 1, "spatial_persistent": 2}
NORM_OPERATIONS = {"bn": 0, "bn_activation": 1, "bn_add_activation": 2}
RELU, PROPAGATE_NAN = 1, 1
CTC_ALGORITHMS = {"deterministic": 0, "non_deterministic": 1}
CTC_SOFTMAX, CTC_SKIP_OUT_OF_BOUNDS = 1, 1
SERVED_LABELS = 255

NETWORK_SHAPES = [
    (32, 64, 112, 112),
    (32, 64, 56, 56),
    (32, 256, 56, 56),
    (32, 128, 28, 28),
    (32, 512, 28, 28),
    (32, 1024, 14, 14),
    (32, 2048, 7, 7),
    (1, 64, 1, 1),
    (2, 3, 5, 7),
    (256, 32, 8, 8),
    (8, 24, 64, 64, 4),
    (4, 32, 16, 16, 16),
]
VARIANTS = [
    (mode, operation, layout, dtype)
    for mode in ("spatial", "spatial_persistent")
    for operation in NORM_OPERATIONS
    for layout in ("contiguous", "channels_last")
    for dtype in ("fp32", "fp16", "bf16")
]


def norm(shape: tuple[int, ...], variant: tuple[str, str, str, str]) -> Config:
    mode, operation, layout, dtype = variant
    names = {"mode": mode, "operation": operation, "layout": layout, "dtype": dtype}
    return {"call": "batch_norm", "shape": list(shape), **names}


def random_shape(draw: random.Random) -> tuple[int, ...]:
    sides = draw.choices([1, 2, 3], weights=[1, 6, 1])[0]
    channels = draw.choice(
        [1, 3, 4, 8, 12, 16, 24, 31, 32, 33, 40, 48, 64, 96, 128, 192, 255, 256, 320, 512, 1024, 2048]
    )
    batch = draw.choice([1, 2, 3, 4, 7, 8, 16, 31, 32, 64, 100, 128, 256])
    spatial = [draw.choice([1, 2, 3, 4, 5, 7, 8, 14, 16, 28, 32, 56, 64, 112]) for _ in range(sides)]
    return batch, channels, *spatial, *([1] if sides == 1 else [])


def norms(draw: random.Random) -> Iterator[Config]:
    for shape in NETWORK_SHAPES:
        yield from (norm(shape, variant) for variant in VARIANTS)
    served = [variant for variant in VARIANTS if variant[0] == "spatial_persistent" and variant[2] == "channels_last"]
    made = 0
    while made < 500:
        shape = random_shape(draw)
        if math.prod(shape) > 2**27:
            continue
        made += 1
        yield norm(shape, draw.choice(served if made % 2 else VARIANTS))
    for shape in [(32, 128), (7, 33), (1024, 2048)]:
        yield norm((*shape, 1, 1), ("per_activation", "bn", "contiguous", "fp32"))


def ctc(steps: int, batch: int, alphabet: int, labels: list[int], longest: int, algorithm: str, *, old: bool) -> Config:
    sizes = {"steps": steps, "batch": batch, "alphabet": alphabet, "label_lengths": labels, "max_label_length": longest}
    return {"call": "ctc_old" if old else "ctc_v8", **sizes, "algo": algorithm}


def losses(draw: random.Random) -> Iterator[Config]:
    base = {"steps": 200, "batch": 16, "alphabet": 32}
    around = {
        "steps": [20, 50, 100, 199, 201, 400, 1000],
        "batch": [1, 2, 15, 17, 32, 64],
        "alphabet": [2, 5, 31, 33, 100, 1000],
    }
    grid = [base, *({**base, name: value} for name, values in around.items() for value in values)]
    for sizes in grid:
        for algorithm in CTC_ALGORITHMS:
            for length in (1, 10, 15):
                yield ctc(
                    **sizes, labels=[length] * sizes["batch"], longest=SERVED_LABELS, algorithm=algorithm, old=True
                )
            for longest in (10, 64, 128, SERVED_LABELS):
                yield ctc(**sizes, labels=[10] * sizes["batch"], longest=longest, algorithm=algorithm, old=False)
    for _ in range(200):
        steps, batch, alphabet = draw.randint(8, 600), draw.randint(1, 100), draw.randint(2, 300)
        labels = [draw.randint(1, min(SERVED_LABELS, steps // 2)) for _ in range(batch)]
        algorithm = draw.choice(list(CTC_ALGORITHMS))
        longest = draw.choice([SERVED_LABELS, SERVED_LABELS, max(labels)])
        yield ctc(steps, batch, alphabet, labels, longest, algorithm, old=draw.random() < 0.5)


def dropouts(draw: random.Random) -> Iterator[Config]:
    yield {"call": "dropout_states"}
    for _ in range(20):
        yield {"call": "dropout_reserve", "shape": [draw.randint(1, 64), draw.randint(1, 64), 1, draw.randint(1, 64)]}


def configurations() -> list[Config]:
    draw = random.Random(3)
    return shuffled([*dropouts(draw), *losses(draw), *norms(draw)])


def strides(shape: list[int], layout: str) -> list[int]:
    order = list(range(len(shape)))
    if layout == "channels_last":
        order = [0, *order[2:], 1]
    steps, step = [0] * len(shape), 1
    for axis in reversed(order):
        steps[axis] = step
        step *= shape[axis]
    return steps


class Asker:
    def __init__(self) -> None:
        self.cudnn = Library("cudnn")
        self.handle = self.cudnn.create("cudnnCreate")
        self.tensor = self.cudnn.create("cudnnCreateTensorDescriptor")
        self.scale = self.cudnn.create("cudnnCreateTensorDescriptor")
        self.activation = self.cudnn.create("cudnnCreateActivationDescriptor")
        self.cudnn.call("cudnnSetActivationDescriptor", "piid", self.activation, RELU, PROPAGATE_NAN, 1.0)
        self.loss = self.cudnn.create("cudnnCreateCTCLossDescriptor")

    def describe(self, descriptor: object, dtype: int, shape: list[int], layout: str = "contiguous") -> None:
        arguments = (dtype, len(shape), ints(shape), ints(strides(shape, layout)))
        self.cudnn.call("cudnnSetTensorNdDescriptor", "piipp", descriptor, *arguments)

    def batch_norm(self, config: Config) -> dict[str, object]:
        shape, operation = config["shape"], NORM_OPERATIONS[config["operation"]]
        self.describe(self.tensor, DATA_TYPES[config["dtype"]], shape, config["layout"])
        ones = shape[2:] if config["mode"] == "per_activation" else [1] * (len(shape) - 2)
        self.describe(self.scale, DATA_TYPES["fp32"], [1, shape[1], *ones])
        head = (self.handle, NORM_MODES[config["mode"]], operation)
        x, scale = self.tensor, self.scale
        activation = self.activation if operation else None
        z = x if operation == NORM_OPERATIONS["bn_add_activation"] else None
        prefix, size = "cudnnGetBatchNormalization", self.cudnn.size
        answers: dict[str, object] = {}
        forward = (f"{prefix}ForwardTrainingExWorkspaceSize", "piipppppp", *head, x, z, x, scale, activation)
        backward = (f"{prefix}BackwardExWorkspaceSize", "piipppppppp", *head, x, x, x, z, x, scale, activation)
        reserve = (f"{prefix}TrainingExReserveSpaceSize", "piippp", *head, activation, x)
        for name, question in (("forward_bytes", forward), ("backward_bytes", backward), ("reserve_bytes", reserve)):
            attempt(answers, name, lambda question=question: size(*question))
        return answers

    def ctc(self, config: Config) -> dict[str, object]:
        old = config["call"] == "ctc_old"
        fp32, algorithm = DATA_TYPES["fp32"], CTC_ALGORITHMS[config["algo"]]
        self.describe(self.tensor, fp32, [config["steps"], config["batch"], config["alphabet"]])
        if not old:
            settings = (fp32, CTC_SOFTMAX, CTC_SKIP_OUT_OF_BOUNDS, config["max_label_length"])
            self.cudnn.call("cudnnSetCTCLossDescriptor_v9", "piiii", self.loss, *settings)
            arguments = (self.handle, algorithm, self.loss, self.tensor, self.tensor)
            return {"bytes": self.cudnn.size("cudnnGetCTCLossWorkspaceSize_v8", "pipppp", *arguments)}
        self.cudnn.call("cudnnSetCTCLossDescriptorEx", "piii", self.loss, fp32, CTC_SOFTMAX, PROPAGATE_NAN)
        lengths = config["label_lengths"]
        labels = ints(1 + index % (config["alphabet"] - 1) for index in range(sum(lengths)))
        host = (labels, ints(lengths), ints([config["steps"]] * config["batch"]))
        arguments = (self.handle, self.tensor, self.tensor, *host, algorithm, self.loss)
        return {"bytes": self.cudnn.size("cudnnGetCTCLossWorkspaceSize", "ppppppipp", *arguments)}

    def dropout(self, config: Config) -> dict[str, object]:
        if config["call"] == "dropout_states":
            return {"bytes": self.cudnn.size("cudnnDropoutGetStatesSize", "pp", self.handle)}
        self.describe(self.tensor, DATA_TYPES["fp32"], config["shape"])
        return {"bytes": self.cudnn.size("cudnnDropoutGetReserveSpaceSize", "pp", self.tensor)}

    def __call__(self, config: Config) -> dict[str, object]:
        kinds = {"batch_norm": self.batch_norm, "ctc_old": self.ctc, "ctc_v8": self.ctc}
        return kinds.get(str(config["call"]), self.dropout)(config)


def start() -> Ask:
    return Asker()


def main(argv: list[str] | None = None) -> int:
    return run(name="legacy", description=__doc__, configurations=configurations(), start=start, argv=argv)


if __name__ == "__main__":
    sys.exit(main())
