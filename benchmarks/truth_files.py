"""Where recorded truth and results lie, and how their JSON lines are read and added to."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
TRUTH = HERE / "truth"
RESULTS = HERE / "results"
REFERENCE = "h200_torch2.11.0_cu130"  # the recordings that estimates are compared with
SECOND_STAGE = HERE / "second_stage.jsonl"


def rows(path: Path) -> list[dict]:
    """The rows about a job; headers are left out. None when there is no such file."""
    if not path.exists():
        return []
    return [row for line in path.read_text().splitlines() if "job" in (row := json.loads(line))]


def add(path: Path, row: dict) -> None:
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def peaks(folder: Path = TRUTH) -> dict[str, dict]:
    """By job line: what the GPU gave; jobs that failed there have no peaks and are left out."""
    recorded = rows(folder / f"{REFERENCE}.jsonl")
    return {row["job"]: row for row in recorded if row.get("completed") and "reserved_bytes" in row}


def minima(folder: Path = TRUTH) -> dict[str, dict]:
    return {row["job"]: row for row in rows(folder / f"{REFERENCE}_minimum.jsonl")}
