"""The benchmark's jobs: the lines of `jobs/*.txt`, each a script of that folder with its options.

    [VARIABLE=VALUE ...] script.py --option value ...

A line identifies the job in every file of truth and of results; the list it is in is its family.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

JOBS = Path(__file__).resolve().parent / "jobs"


@dataclass(frozen=True)
class Job:
    line: str
    family: str

    @property
    def variables(self) -> dict[str, str]:
        """What the line sets in the environment."""
        return dict(word.split("=", 1) for word in self.line.split(".py")[0].split()[:-1])

    @property
    def words(self) -> list[str]:
        """The script and its options."""
        return self.line.split()[len(self.variables) :]

    @property
    def script(self) -> Path:
        return JOBS / self.words[0]

    def command(self) -> list[str]:
        return [sys.executable, str(self.script), *self.words[1:]]

    def environment(self) -> dict[str, str]:
        """That of this process without allocator settings, and with what the line sets."""
        ours = {key: value for key, value in os.environ.items() if not key.endswith("ALLOC_CONF")}
        return ours | self.variables

    def option(self, *names: str) -> str | None:
        """The value of the first of these options that the line gives."""
        words = self.words
        return next((words[words.index(name) + 1] for name in names if name in words), None)

    @property
    def precision(self) -> str:
        return self.option("--precision", "--prec") or "fp32"

    @property
    def optimizer(self) -> str:
        return self.option("--optimizer", "--opt") or "the script's own"


def in_hash_order(jobs: Iterable[Job]) -> list[Job]:
    """In an order that depends on nothing but their lines: its beginning is a random sample."""
    return sorted(jobs, key=lambda job: hashlib.sha256(job.line.encode()).hexdigest())


def families() -> list[str]:
    return sorted(path.stem for path in JOBS.glob("*.txt"))


def read(only: Iterable[str] | None = None) -> list[Job]:
    """The jobs of these families, or of all; a line that two lists have belongs to the first."""
    jobs: dict[str, Job] = {}
    for family in families() if only is None else only:
        for line in (JOBS / f"{family}.txt").read_text().splitlines():
            if line and not line.startswith("#"):
                jobs.setdefault(line, Job(line, family))
    return list(jobs.values())
