"""The settings of the run, as the launcher wrote them into one document (see docs: environment variables)."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from veritasest.spec.codec import from_plain
from veritasest.spec.run import RunSpec

VARIABLE = "VERITASEST_RUN"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """`layer`: the folder of the interposer's private file layer, None where there is none."""

    trace: str
    layer: str | None
    run: RunSpec


def load() -> Settings:
    with open(os.environ[VARIABLE], encoding="utf-8", errors="surrogateescape") as file:
        document = json.load(file)
    native = document["native"]
    return Settings(trace=native["trace"], layer=native.get("layer"), run=from_plain(RunSpec, document["run"]))
