"""Reads the catalogue, and finds a GPU by any reasonable spelling of its name.

`gpus.jsonl` has one row per GPU, `architectures.json` what follows from the compute capability. Rows in the user's own
file (~/.config/veritasest/gpus.jsonl) are added, and replace those of the same id.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from veritasest.errors import UnknownGPU, UsageError
from veritasest.spec.codec import from_plain
from veritasest.spec.gpu import GPU


@cache
def load() -> tuple[GPU, ...]:
    ours = files(__package__).joinpath("gpus.jsonl")
    found = {gpu.id: gpu for gpu in _rows(ours.read_text(encoding="utf-8"), "gpus.jsonl")}
    path = user_file()
    if path.exists():
        found.update((gpu.id, gpu) for gpu in _rows(path.read_text(encoding="utf-8"), str(path)))
    return tuple(found.values())


def user_file() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(folder) / "veritasest" / "gpus.jsonl"


def _rows(text: str, name: str) -> Iterator[GPU]:
    architectures = json.loads(files(__package__).joinpath("architectures.json").read_text(encoding="utf-8"))
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            try:
                yield _gpu(json.loads(line), architectures)
            except (ValueError, TypeError, KeyError) as error:
                hint = "see the documentation: add a GPU"
                raise UsageError(f"{name}, line {number}: not a GPU: {error!r}", hint) from error


def _gpu(row: Mapping[str, Any], architectures: Mapping[str, Mapping[str, int]]) -> GPU:
    return from_plain(GPU, {**architectures.get(row["compute_capability"], {}), **row})


def find(name: str) -> GPU:
    """The GPU called `name`: case, spaces and dashes do not matter ("RTX 4090", "rtx4090", "NVIDIA H200")."""
    spellings = {_key(spelling): gpu for gpu in load() for spelling in (gpu.id, gpu.name, *gpu.aliases)}
    if _key(name) in spellings:
        return spellings[_key(name)]
    near = difflib.get_close_matches(_key(name), spellings, n=6, cutoff=0.5)
    names = list(dict.fromkeys(spellings[key].id for key in near))[:3]
    advice = f"did you mean {', '.join(names)}? " if names else ""
    raise UnknownGPU(f"unknown GPU {name!r}", f"{advice}`veritasest gpus` lists them all")


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
