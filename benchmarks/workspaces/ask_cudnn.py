"""Asks the cuDNN of this process for the sizes of recorded configurations; run on the emulated device.

    python -m benchmarks.workspaces.ask_cudnn FOLDER rnn legacy

`score_cudnn.py` starts it. Writes FOLDER/NAME.jsonl, one answer per recorded configuration.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

from benchmarks.workspaces import record_legacy, record_rnn
from benchmarks.workspaces.recording import Ask, Config, RefusedError
from benchmarks.workspaces.score_cudnn import recorded

RECORDERS = {"rnn": record_rnn.start, "legacy": record_legacy.start}


def answer(ask: Ask, row: Config) -> dict[str, object]:
    try:
        return {"status": 0, **ask(row)}
    except RefusedError as refused:
        return {"status": refused.status}


def main(folder: Path, names: list[str]) -> int:
    torch.empty(1, device="cuda")  # the context
    for name in names:
        ask = RECORDERS[name]()
        with (folder / f"{name}.jsonl").open("w") as file:
            file.writelines(json.dumps(answer(ask, row)) + "\n" for row in recorded(name))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
