"""Where recorded truth and results lie, and how their JSON lines are read and added to."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
TRUTH = HERE / "truth"
RESULTS = HERE / "results"
REFERENCE = "h200_torch2.11.0_cu130"  # the recordings that estimates are compared with
SECOND_STAGE = HERE / "second_stage.jsonl"


def read_lines(path: Path) -> list[dict]:
    """Rows of a file of JSON lines, none if it is missing; a last line that is still being written is left out."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found += [json.loads(line)] if line.strip() else []
        except json.JSONDecodeError as error:
            if number < len(lines):
                raise SystemExit(f"{path}:{number} is no JSON ({error}); correct or delete the line") from None
    return found


def headers(path: Path) -> list[dict]:
    """The rows that say where the others come from."""
    return [row for row in read_lines(path) if "job" not in row]


def rows(path: Path) -> list[dict]:
    """The rows about a job."""
    return [row for row in read_lines(path) if "job" in row]


def add(path: Path, row: dict) -> None:
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def peaks(folder: Path = TRUTH) -> dict[str, dict]:
    """By job line: what the GPU gave; jobs that failed there have no peaks and are left out."""
    recorded = rows(folder / f"{REFERENCE}.jsonl")
    return {row["job"]: row for row in recorded if row.get("completed") and "reserved_bytes" in row}


def minima(folder: Path = TRUTH) -> dict[str, dict]:
    return {row["job"]: row for row in rows(folder / f"{REFERENCE}_minimum.jsonl")}


def commit() -> str | None:
    words = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip() or None
