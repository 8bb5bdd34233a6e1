"""The emulated cuDNN's sizes for RNN, CTC loss, batch normalisation and dropout, against those of a real GPU.

    python -m benchmarks.workspaces.score_cudnn            a table; VERITASEST_LIB names another build of the stand-ins

Every recorded configuration (truth/h200_rnn, truth/h200_legacy) is asked for again, by the recorders themselves, on
the emulated device. `unseen`: the fifth of them, selected by a hash of the configuration, that was held out while
the models in native/ were fitted. A refusal is an answer like any other; a configuration counts as exact when all
of its answers are.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from benchmarks.emulated_device import emulated_environment
from benchmarks.json_lines import read_lines
from benchmarks.truth_files import HERE, ROOT

RECORDINGS = {name: HERE / f"workspaces/truth/h200_{name}.jsonl" for name in ("rnn", "legacy")}
NEAR_BYTES = 64 * 1024
RNN_INPUTS = (
    "call mode algo layers bidirectional input hidden projection dropout batch steps dtype tf32 padded_io lengths"
)
CTC_INPUTS = "call steps batch alphabet label_lengths max_label_length algo"
INPUTS = {
    "rnn": [*RNN_INPUTS.split(), "lengths"],
    "ctc_old": CTC_INPUTS.split(),
    "ctc_v8": CTC_INPUTS.split(),
    "batch_norm": ["call", "shape", "mode", "operation", "layout", "dtype"],
    "dropout_states": ["call"],
    "dropout_reserve": ["call", "shape"],
}
ANSWERS = ["weight_bytes", "training", "inference", "offsets", "bytes", "forward_bytes", "backward_bytes"]
ANSWERS += ["reserve_bytes", "status"]

Row = dict[str, object]


def is_unseen(row: Row) -> bool:
    """Whether a configuration was held out while fitting: one in five, by its inputs alone."""
    asked = {name: row[name] for name in INPUTS[str(row["call"])]}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).digest()[0] % 5 == 0


def recorded(name: str) -> list[Row]:
    return [row for row in read_lines(RECORDINGS[name]) if "provenance" not in row]


def emulated_answers(folder: Path) -> dict[str, list[Row]]:
    """In the order of the recordings. The trace of the emulated device is left in `folder`/trace."""
    command = [sys.executable, "-m", "benchmarks.workspaces.ask_cudnn", str(folder), *RECORDINGS]
    with emulated_environment(folder) as environment:
        subprocess.run(command, env=environment, cwd=ROOT, check=True, stdout=sys.stderr)
    return {name: read_lines(folder / f"{name}.jsonl") for name in RECORDINGS}


def numbers(value: object) -> list[int | None]:
    """All numbers in an answer, in order; None where there is none or it was refused."""
    if isinstance(value, list):
        return [number for part in value for number in numbers(part)]
    return [value] if isinstance(value, int) else [None]


def off_bytes(row: Row, answer: Row) -> float:
    """The largest difference between recorded and emulated numbers; infinite where only one of them was refused."""
    worst = 0.0
    for name in ANSWERS:
        real, emulated = numbers(row.get(name)), numbers(answer.get(name))
        if [number is None for number in real] != [number is None for number in emulated]:
            return float("inf")
        both = [(a, b) for a, b in zip(real, emulated, strict=True) if a is not None and b is not None]
        worst = max([worst, *(abs(a - b) for a, b in both)])
    return worst


def group(row: Row) -> str:
    parts = [row["call"], row.get("algo") if row["call"] == "rnn" else row.get("mode"), row.get("dtype")]
    return " ".join(str(part) for part in parts if part)


def scores() -> Iterator[tuple[Row, float]]:
    """Every recorded configuration with the distance of the emulated answer."""
    with tempfile.TemporaryDirectory() as folder:
        answers = emulated_answers(Path(folder))
    for name in RECORDINGS:
        rows = recorded(name)
        if len(rows) != len(answers[name]):
            raise RuntimeError(f"{name}: {len(rows)} configurations recorded, {len(answers[name])} answered")
        yield from ((row, off_bytes(row, answer)) for row, answer in zip(rows, answers[name], strict=True))


def summary(offs: list[float]) -> str:
    exact = sum(off == 0 for off in offs) / len(offs)
    near = sum(off <= NEAR_BYTES for off in offs) / len(offs)
    return f"{len(offs):5d} {exact:7.1%} {near:7.1%} {max(offs):12,.0f}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", action="store_true", help="print every configuration that is not exact")
    options = parser.parse_args(argv)
    groups: dict[str, dict[bool, list[float]]] = defaultdict(lambda: {False: [], True: []})
    for row, off in scores():
        for name in (group(row), "all"):
            groups[name][is_unseen(row)].append(off)
        if options.misses and off:
            print(f"off by {off:,.0f}: {json.dumps(row)}")
    columns = "count   exact  64 KiB  worst bytes"
    print(f"{'':34}{'seen: ' + columns:>42}   {'unseen: ' + columns}")
    for name in sorted(groups):
        print(f"{name:34}", "   ".join(f"{summary(offs) if offs else '':>41}" for offs in groups[name].values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
