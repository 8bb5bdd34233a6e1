"""The emulated cuDNN's workspaces for convolutions, against those of a real GPU.

    python -m benchmarks.workspaces.score_convs [--workers 2]      exit code 1 if less than 97 % are exact

The convolutions of truth/h200_convs_handle.txt.gz (800 random shapes, forward and both gradients, recorded on an H200
by record_convs.py) are run again on the emulated device and the plans compared: engine, knobs and workspace. None of
them was used to derive the rules in native/.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.emulated_device import emulated_environment
from benchmarks.truth_files import HERE, ROOT

TRUTH = HERE / "workspaces/truth/h200_convs_handle.txt.gz"
NEAR_BYTES = 64 * 1024
TARGET = 0.97

Plans = dict[int, list[tuple[dict, int]]]


def parse(line: str) -> tuple[dict, int] | None:
    """Engine and knobs of a plan, and its workspace, from one recorded line; None for lines that are not plans."""
    status, _, rest = line.partition(" ws=")
    if not status.isdigit() or not rest:
        return None
    size, _, text = rest.partition(" ")
    engine = json.loads(text)["engine"]
    return {"engine": engine["engineId"], "knobs": engine["knobChoices"]}, int(size)


def read(path: Path) -> Plans:
    """The plans of each convolution, by its number."""
    plans: Plans = {}
    current: list = []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            if line.startswith("CONV "):
                current = plans.setdefault(json.loads(line[5:])["index"], [])
            elif not line.startswith("#") and (parsed := parse(line)):
                current.append(parsed)
    return plans


def emulate(folder: Path, workers: int) -> Plans:
    recorder = [sys.executable, "-m", "benchmarks.workspaces.record_convs"]
    words = [*recorder, str(folder), "--label", "deviceprop", "--limit", "900"]
    with emulated_environment(folder) as environment:
        subprocess.run([*words, "--workers", str(workers)], env=environment, check=True, cwd=ROOT)
    return read(folder / "convs_deviceprop.txt.gz")


def compare(truth: Plans, found: Plans) -> Counter[str]:
    score: Counter[str] = Counter()
    for number, recorded in truth.items():
        for (plan, size), (ours, our_size) in zip(recorded, found.get(number, []), strict=True):
            miss = abs(our_size - size)
            score["plans"] += 1
            score["same engine and knobs"] += (plan["engine"], plan["knobs"]) == (ours["engine"], ours["knobs"])
            score["workspace exact"] += miss == 0
            score["within 64 KiB"] += miss <= NEAR_BYTES
            score["too low"] += our_size < size
            score["worst miss"] = max(score["worst miss"], miss)
    return score


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    workers = parser.parse_args().workers
    with tempfile.TemporaryDirectory(prefix="veritasest-convs-") as folder:
        score = compare(read(TRUTH), emulate(Path(folder), workers))
    for name, value in score.items():
        share = "" if name in ("plans", "worst miss") else f"  {value / score['plans']:.2%}"
        print(f"{name:24}{value:12,}{share}")
    return int(score["workspace exact"] < TARGET * score["plans"])


if __name__ == "__main__":
    sys.exit(main())
