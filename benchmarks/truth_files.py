"""Where the recorded truth is, and what it says about each job."""

from __future__ import annotations

from pathlib import Path

from benchmarks.json_lines import rows

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TRUTH = HERE / "truth"
REFERENCE = "h200_torch2.11.0_cu130"  # the recordings that estimates are compared with
SECOND_STAGE = HERE / "second_stage.jsonl"


def peaks(folder: Path = TRUTH) -> dict[str, dict]:
    """By job line: the peaks on the GPU; jobs that failed there have none and are left out."""
    recorded = rows(folder / f"{REFERENCE}.jsonl")
    return {row["job"]: row for row in recorded if row.get("completed") and "reserved_bytes" in row}


def minima(folder: Path = TRUTH) -> dict[str, dict]:
    """By job line: the smallest limit at which the job completed, and the largest at which it failed."""
    return {row["job"]: row for row in rows(folder / f"{REFERENCE}_minimum.jsonl")}
