"""Records the plans cuDNN makes for random convolutions: PyTorch runs them, `log_plans.c` writes the plans down.

    python -m benchmarks.workspaces.record_convs FOLDER [--label handle]     writes FOLDER/convs_handle.txt.gz
    python -m benchmarks.workspaces.record_convs --dry-run

Forward and both gradients of each shape, shared out among worker processes. The first line is the provenance after
"# "; then, worker by worker, a CONV line says which convolution the lines below it belong to (`log_plans.c` explains
the others). Run on a GPU, the plans come through cuDNN's handle; run on the emulated device, whose own LD_PRELOAD stays
in force behind the logger's, they come through device properties: the CONV lines pair the two.
"""

from __future__ import annotations

import argparse
import ctypes
import gzip
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.truth_files import ROOT
from benchmarks.workspaces.recording import Config, provenance, shuffled

SHAPES = 800
MOST_ELEMENTS = 2**23
MOST_MULTIPLICATIONS = 2**36
PRECISIONS = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
CHANNELS = [1, 2, 3, 4, 6, 8, 12, 16, 17, 24, 32, 40, 48, 64, 64, 80, 96, 100, 128, 128, 160, 192, 256, 256, 320, 384]
CHANNELS += [512, 512, 640, 768, 1024, 1024, 1280, 2048]
LENGTHS = [1, 4, 7, 16, 31, 50, 100, 128, 256, 400, 1000, 1024, 4000, 16000]
IMAGES = [1, 2, 3, 4, 5, 7, 7, 8, 13, 14, 14, 16, 17, 20, 24, 28, 28, 32, 35, 40, 48, 56, 56, 64, 80, 96, 100, 112, 128]
IMAGES += [160, 224]
VOLUMES = [1, 2, 3, 4, 5, 7, 8, 10, 14, 16, 20, 28, 32, 48, 56]
SIDES = {1: LENGTHS, 2: IMAGES, 3: VOLUMES}
KINDS = {"plain": 9, "pointwise": 4, "grouped": 3, "depthwise": 2, "dilated": 2, "transposed": 4}


def groups_for(kind: str, into: int, out: int, draw: random.Random) -> tuple[int, int, int]:
    """Channels in and out, and groups that divide both."""
    if kind == "depthwise":
        return into, into * draw.choice([1, 1, 1, 2]), into
    if kind != "grouped":
        return into, out, 1
    groups = draw.choice([2, 3, 4, 8, 16, 32])
    return max(1, into // groups) * groups, max(1, out // groups) * groups, groups


def one(draw: random.Random) -> Config:
    rank = draw.choices([1, 2, 3], weights=[2, 7, 2])[0]
    kind = draw.choices(list(KINDS), weights=list(KINDS.values()))[0]
    into, out, groups = groups_for(kind, draw.choice(CHANNELS), draw.choice(CHANNELS), draw)
    side = draw.choice(SIDES[rank])
    even = draw.random() < 0.75
    kernel_side = 1 if kind == "pointwise" else draw.choice([1, 2, 3, 3, 3, 4, 5, 7])
    kernel = [kernel_side if even else draw.choice([1, 3, kernel_side]) for _ in range(rank)]
    stride = draw.choice([1, 1, 1, 2, 2, 3])
    dilation = draw.choice([2, 3, 4]) if kind == "dilated" else 1
    return {
        "kind": kind,
        "batch": draw.choice([1, 1, 2, 3, 4, 7, 8, 8, 16, 16, 32, 32, 64, 128]),
        "in": into,
        "out": out,
        "groups": groups,
        "spatial": [side if even else draw.choice(SIDES[rank]) for _ in range(rank)],
        "kernel": kernel,
        "stride": [stride] * rank,
        "padding": [draw.choice([0, dilation * (side // 2), dilation * (side // 2)]) for side in kernel],
        "dilation": [dilation] * rank,
        "transposed": kind == "transposed",
        "output_padding": [draw.choice([0, stride - 1]) if kind == "transposed" else 0] * rank,
        "precision": draw.choice(list(PRECISIONS)),
        "channels_last": rank > 1 and draw.random() < 0.45,
    }


def output_spatial(config: Config) -> list[int]:
    names = ("spatial", "kernel", "stride", "padding", "dilation", "output_padding")
    sizes = []
    for side, kernel, stride, padding, dilation, extra in zip(*(config[name] for name in names), strict=True):
        reach = dilation * (kernel - 1)
        if config["transposed"]:
            sizes.append((side - 1) * stride - 2 * padding + reach + extra + 1)
        else:
            sizes.append((side + 2 * padding - reach - 1) // stride + 1 if side + 2 * padding > reach else 0)
    return sizes


def allowed(config: Config) -> bool:
    """Some output, and small enough that the GPU is done in milliseconds."""
    output = output_spatial(config)
    if min(output) < 1:
        return False
    inputs = config["batch"] * config["in"] * math.prod(config["spatial"])
    outputs = config["batch"] * config["out"] * math.prod(output)
    weights = config["in"] * config["out"] // config["groups"] * math.prod(config["kernel"])
    points = math.prod(config["spatial"] if config["transposed"] else output)
    return max(inputs, outputs, weights) <= MOST_ELEMENTS and weights * points * config["batch"] <= MOST_MULTIPLICATIONS


def configurations() -> list[Config]:
    draw = random.Random(2)
    found: dict[str, Config] = {}
    while len(found) < SHAPES:
        config = one(draw)
        if allowed(config):
            found[str(config)] = config
    return [{"index": index, **config} for index, config in enumerate(shuffled(found.values()))]


def run_conv(config: Config) -> None:
    """Contents do not matter to the plans, so none are made."""
    dtype = PRECISIONS[config["precision"]]
    torch.backends.cudnn.allow_tf32 = config["precision"] == "tf32"
    first, second = (config["in"], config["out"]) if config["transposed"] else (config["out"], config["in"])
    x = torch.empty(config["batch"], config["in"], *config["spatial"], dtype=dtype, device="cuda")
    weight = torch.empty(first, second // config["groups"], *config["kernel"], dtype=dtype, device="cuda")
    if config["channels_last"]:
        form = torch.channels_last if len(config["spatial"]) == 2 else torch.channels_last_3d
        x, weight = x.contiguous(memory_format=form), weight.contiguous(memory_format=form)
    names = ("stride", "padding", "dilation", "transposed", "output_padding", "groups")
    options = [config[name] for name in names]
    y = torch.ops.aten.convolution(x, weight, None, *options)
    torch.ops.aten.convolution_backward(torch.empty_like(y), x, weight, None, *options, [True, True, False])
    torch.cuda.synchronize()


def work(share: int, workers: int, limit_s: float) -> int:
    """In a process that has the logger in front of cuDNN: every `workers`-th convolution."""
    note = ctypes.CDLL(None).log_plans_note
    note.argtypes, note.restype = [ctypes.c_char_p], None
    begun = time.monotonic()
    for count, config in enumerate(configurations()[share::workers]):
        if time.monotonic() - begun > limit_s:
            note(json.dumps({"stopped": "time limit", "worker": share, "done": count}).encode())
            break
        note(json.dumps(config).encode())
        try:
            run_conv(config)
        except RuntimeError as error:
            note(json.dumps({"index": config["index"], "refused": str(error).splitlines()[0]}).encode())
        if count % 20 == 0:
            torch.cuda.empty_cache()
    return 0


def build(folder: Path) -> Path:
    library = folder / "log_plans.so"
    flags = ["-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", library, Path(__file__).with_name("log_plans.c"), "-ldl"], check=True)
    return library


def record(output: Path, workers: int, limit_s: float) -> int:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="convs-") as name:
        folder = Path(name)
        preload = ":".join(filter(None, [str(build(folder)), os.environ.get("LD_PRELOAD")]))
        logs = [folder / f"worker{share}.txt" for share in range(workers)]
        running = []
        for share, log in enumerate(logs):
            log.touch()
            numbers = {"--share": share, "--workers": workers, "--limit": limit_s}
            options = [str(word) for pair in numbers.items() for word in pair]
            words = [sys.executable, "-m", "benchmarks.workspaces.record_convs", *options]
            environment = {**os.environ, "LD_PRELOAD": preload, "LOG_PLANS": str(log)}
            running.append(subprocess.Popen(words, env=environment, cwd=ROOT))
        codes = [process.wait() for process in running]
        lines = [line for log in logs for line in log.read_text().splitlines()]
    with gzip.open(output, "wt") as file:
        file.write(f"# {json.dumps({**provenance(), 'workers_exit': codes})}\n")
        file.writelines(line + "\n" for line in lines)
    plans = sum(" ws=" in line for line in lines)
    print(f"{output}: {plans} plans, exit codes {codes}, {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return int(any(codes))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="where the plans go")
    parser.add_argument("--label", default="handle", help="how cuDNN was asked: handle or deviceprop")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--limit", type=float, default=100.0, metavar="SECONDS", help="of each worker")
    parser.add_argument("--dry-run", action="store_true", help="print the convolutions; no GPU is needed")
    parser.add_argument("--share", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.dry_run:
        for config in configurations():
            print(json.dumps(config))
        return 0
    if options.share is not None:
        return work(options.share, options.workers, options.limit)
    if options.folder is None:
        parser.error("a folder for the plans is needed (or --dry-run)")
    options.folder.mkdir(parents=True, exist_ok=True)
    return record(options.folder / f"convs_{options.label}.txt.gz", options.workers, options.limit)


if __name__ == "__main__":
    sys.exit(main())
