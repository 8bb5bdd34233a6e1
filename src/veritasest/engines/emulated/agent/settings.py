"""The settings of the run, as the launcher wrote them into one document (docs: environment variables).

Read at the start of every Python process of the job. What needs more imports waits until PyTorch is used.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veritasest.spec.run import RunSpec

VARIABLE = "VERITASEST_RUN"


class Settings:
    """`layer`: the folder of the interposer's private file layer, None where there is none."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.trace: str = document["native"]["trace"]
        self.layer: str | None = document["native"].get("layer")
        self._run = document["run"]

    def run(self) -> RunSpec:
        from veritasest.spec.codec import from_plain
        from veritasest.spec.run import RunSpec

        return from_plain(RunSpec, self._run)


def load() -> Settings:
    with open(os.environ[VARIABLE], encoding="utf-8", errors="surrogateescape") as file:
        return Settings(json.load(file))
