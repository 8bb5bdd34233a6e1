"""`results/estimates.jsonl.gz`: the estimates behind the published figures, one row per kind, job and capacity.

A header row per kind says where its rows come from. The rows of a kind are replaced together, by
`python -m benchmarks.estimate.publish`.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.json_lines import headers, rows
from benchmarks.truth_files import HERE

RESULTS = HERE / "results"
FILE_NAME = "estimates.jsonl"
KINDS = ("peaks", "default", "minimum", "capacity", "real", "alone")


def read_estimates(kind: str, results: Path = RESULTS) -> list[dict]:
    """The rows of this kind."""
    return [row for row in rows(results / FILE_NAME) if row["kind"] == kind]


def read_provenance(kind: str, results: Path = RESULTS) -> dict | None:
    """Machine, versions and commit of the rows of this kind."""
    return next((row for row in headers(results / FILE_NAME) if row["kind"] == kind), None)
