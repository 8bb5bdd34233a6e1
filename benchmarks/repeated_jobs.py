"""The jobs of `repeats.txt`: recorded several times, to see how far the same job varies on one GPU.

Ranges are developed on the jobs of its section `[fit]`, and only scored on those of `[test]`.
"""

from __future__ import annotations

from pathlib import Path

REPEATS = Path(__file__).resolve().parent / "repeats.txt"
RUNS = 5
PARTS = ("fit", "test")


def read_repeated_jobs(path: Path = REPEATS) -> dict[str, str]:
    """The part of each job, by its line."""
    parts: dict[str, str] = {}
    part = None
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.startswith("["):
            part = line.strip("[]")
            if part not in PARTS:
                raise SystemExit(f"{path} has a section {line}; there are [fit] and [test]")
        elif line and not line.startswith("#"):
            if part is None:
                raise SystemExit(f"{path} has a job before its first section: {line}")
            if line in parts:
                raise SystemExit(f"{path} names a job twice: {line}")
            parts[line] = part
    return parts
