"""Reads catalogue.json, and finds a GPU by any reasonable spelling of its name."""

from __future__ import annotations

import difflib
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from veritasest.errors import UnknownGPU
from veritasest.spec.gpu import GPU


@cache
def load() -> tuple[GPU, ...]:
    records = json.loads(files(__package__).joinpath("catalogue.json").read_text(encoding="utf-8"))
    return tuple(GPU(**_frozen(record)) for record in records)


def _frozen(record: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in record.items()}


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
