"""What the tests of the benchmark's scorer share: small books, and the scorer's modules."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
import books  # noqa: E402
import checks  # noqa: E402
import defaults  # noqa: E402
import figures  # noqa: E402
import score  # noqa: E402
import scoring  # noqa: E402
import tables  # noqa: E402
import truth_files  # noqa: E402

__all__ = ["GIB", "LISTS", "ROOT", "TRUTH", "books", "checks", "defaults", "estimate", "figures", "fill", "score"]
__all__ += ["scoring", "summary_of", "tables", "truth", "truth_files", "write"]

GIB = 2**30
SETTINGS = ("cnn", "fp32", "adam")
LISTS = {"a.py": SETTINGS, "b.py": SETTINGS, "c.py": ("language", "bf16", "adamw")}
TRUTH = f"truth/{truth_files.REFERENCE}"


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


def fill(folder: Path) -> Path:
    """Three recorded jobs: one exact, one 2 % too low with a known cause, one without an answer."""
    header = {"recording": "r1", "total_bytes": 100 * GIB}
    write(folder / f"{TRUTH}.jsonl", [header, *(truth(job, reserved=1000, allocated=900) for job in LISTS)])
    answers = [estimate("a.py", 1000), estimate("b.py", 980), estimate("c.py", None)]
    write(folder / "results/estimates.jsonl", [{"veritasest": "0.1.0"}, *answers])
    write(folder / "causes.jsonl", [{"job": "b.py", "cause": "a workspace"}])
    return folder


def summary_of(folder: Path) -> dict:
    return scoring.summarise(books.read_books(folder, LISTS))
