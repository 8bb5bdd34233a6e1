"""A benchmark of three jobs in a temporary folder, for the tests of its scores."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.json_lines import add
from benchmarks.score import accuracy_page
from benchmarks.score.benchmark_data import read_data
from benchmarks.score.summary import summarise
from benchmarks.truth_files import REFERENCE

ROOT = Path(__file__).parents[2]
GIB = 2**30
SETTINGS = ("cnn", "fp32", "adam")
LISTS = {"a.py": SETTINGS, "b.py": SETTINGS, "c.py": ("language", "bf16", "adamw")}
TRUTH = f"truth/{REFERENCE}"
COMMIT = "0123abc"


def write(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def truth(job: str, reserved: int, allocated: int) -> dict:
    return {"job": job, "completed": True, "exit": 0, "reserved_bytes": reserved, "allocated_bytes": allocated}


def estimate(job: str, reserved: int | None, seconds: float = 2) -> dict:
    verdict = "fits" if reserved else "failed"
    peaks = {"reserved_bytes": reserved, "allocated_bytes": reserved}
    cost = {"seconds": seconds, "host_bytes": GIB}
    return {"job": job, "verdict": verdict, **peaks, "assumed": 0, "not_modelled": [], **cost}


def add_estimates(folder: Path, kind: str, rows: list[dict], **header: object) -> None:
    """Published estimates of this kind; the last one of a job counts."""
    path = folder / "results/estimates.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    for row in [{"veritasest": "0.1.0", "commit": COMMIT, **header}, *rows]:
        add(path, {**row, "kind": kind})


def fill(folder: Path) -> Path:
    """Three recorded jobs: one exact, one 2 % too low with a known cause, one not estimated."""
    header = {"recording": "r1", "total_bytes": 100 * GIB}
    write(folder / f"{TRUTH}.jsonl", [header, *(truth(job, reserved=1000, allocated=900) for job in LISTS)])
    add_estimates(folder, "peaks", [estimate("a.py", 1000), estimate("b.py", 980), estimate("c.py", None)])
    write(folder / "causes.jsonl", [{"job": "b.py", "cause": "a workspace"}])
    return folder


def summary_of(folder: Path) -> dict:
    return summarise(read_data(folder, LISTS))


def page_of(folder: Path) -> str:
    return accuracy_page.page(read_data(folder, LISTS), summary_of(folder))
