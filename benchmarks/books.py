"""Everything that is scored, read from its files and joined by job."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from checks import Check, judge
from repeats import read_repeats
from truth_files import REFERENCE, headers, rows

DIMENSIONS = ("family", "precision", "optimizer")
UNLISTED = ("unlisted", "unknown", "unknown")


def error_percent(estimate: int, truth: int) -> float:
    return 100 * (estimate - truth) / truth


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One recorded job; `estimate` is None while it has not been estimated."""

    line: str
    family: str
    precision: str
    optimizer: str
    truth: dict
    estimate: dict | None

    def pair(self, measure: str = "reserved") -> tuple[int | None, int] | None:
        """Estimate (None: no answer) and truth; None where there is nothing to compare."""
        truth = self.truth.get(f"{measure}_bytes")
        return (self.estimate.get(f"{measure}_bytes"), truth) if truth and self.estimate is not None else None

    @property
    def error(self) -> float | None:
        """Of the reserved peak, in percent."""
        pair = self.pair()
        return None if pair is None or pair[0] is None else error_percent(pair[0], pair[1])


@dataclass(frozen=True, kw_only=True)
class Repeated:
    """A job that ran several times on the GPU; `estimate` by the default options, else with `--until-exit`."""

    line: str
    part: str  # "fit" or "test"
    reserved_bytes: tuple[int, ...]
    estimate: dict | None


@dataclass(frozen=True, kw_only=True)
class Books:
    listed: int
    provenance: dict
    scored: list[Scored]
    default: list[Scored]  # with the default options instead of --until-exit
    default_checks: list[Check]  # the second stage, judged by those
    repeated: list[Repeated]
    unseen_scripts: frozenset[str]
    real: list[Scored]
    alone: list[dict]  # a sample, estimated one at a time on a quiet machine
    failed_on_gpu: dict[str, dict]
    checks: list[Check]
    filled: list[dict]  # runs beside a process that left just so much of the GPU
    true_minima: dict[str, dict]
    our_minima: dict[str, int]
    rivals: dict[str, dict[str, dict]]
    causes: dict[str, str]


def by_job(found: Iterable[dict]) -> dict[str, dict]:
    """The last row of each job."""
    return {row["job"]: row for row in found}


def read_limits(truth: Path, results: Path) -> list[dict]:
    """The runs of the second stage, each with the verdict that is predicted now for its capacity and limit."""
    capacities = rows(results / "estimates_capacity.jsonl")
    verdicts = {(row["job"], row["capacity_gib"], row.get("available_bytes")): row["verdict"] for row in capacities}
    limits = rows(truth / f"{REFERENCE}_limits.jsonl")
    return [
        row | {"predicted": verdicts.get((row["job"], row.get("capacity_gib"), row["limit_bytes"]))} for row in limits
    ]


def read_rivals(path: Path) -> dict[str, dict[str, dict]]:
    found = rows(path)
    names = sorted({row["rival"] for row in found})
    return {name: by_job(row for row in found if row["rival"] == name) for name in names}


def read_repeated(path: Path, parts: dict[str, str], estimates: dict[str, dict]) -> list[Repeated]:
    """Runs that completed without pressure; a job of no part was taken off the list."""
    runs: dict[str, list[int]] = {}
    for row in rows(path):
        if row["job"] in parts and row.get("completed") and not row.get("allocator_retries"):
            runs.setdefault(row["job"], []).append(row["reserved_bytes"])
    return [
        Repeated(line=line, part=parts[line], reserved_bytes=tuple(sizes), estimate=estimates.get(line))
        for line, sizes in sorted(runs.items())
    ]


def read_unseen(path: Path) -> frozenset[str]:
    return frozenset(json.loads(path.read_text())["unseen"]) if path.exists() else frozenset()


def read_books(folder: Path, lists: dict[str, tuple[str, str, str]]) -> Books:
    """From truth/ and results/ of the folder; `lists` gives family, precision and optimizer of every listed line."""
    truth, results = folder / "truth", folder / "results"
    recordings, recorded = headers(truth / f"{REFERENCE}.jsonl"), rows(truth / f"{REFERENCE}.jsonl")
    good = by_job(row for row in recorded if row["completed"] and row.get("reserved_bytes"))
    estimates = by_job(rows(results / "estimates.jsonl"))
    default = by_job(rows(results / "estimates_default.jsonl"))
    real = by_job(rows(results / "estimates_real.jsonl"))
    needs = {line: row.get("reserved_bytes") for line, row in estimates.items()}
    default_needs = {line: row.get("reserved_bytes") for line, row in default.items()}
    minima = by_job(rows(results / "estimates_minimum.jsonl"))
    limits, total_bytes = read_limits(truth, results), recordings[0]["total_bytes"] if recordings else 0

    def scored(line: str, estimate: dict | None) -> Scored:
        kinds = dict(zip(DIMENSIONS, lists.get(line, UNLISTED), strict=True))
        return Scored(line=line, **kinds, truth=good[line], estimate=estimate)

    return Books(
        listed=len(lists),
        provenance={
            "estimates": next(iter(headers(results / "estimates.jsonl")), None),
            "estimates_default": next(iter(headers(results / "estimates_default.jsonl")), None),
            "estimates_alone": next(iter(headers(results / "estimates_alone.jsonl")), None),
            "recordings": recordings,
        },
        scored=[scored(line, estimates.get(line)) for line in sorted(good)],
        default=[scored(line, default[line]) for line in sorted(default) if line in good],
        default_checks=judge([row for row in limits if row["job"] in default], default_needs, total_bytes),
        repeated=read_repeated(
            truth / f"{REFERENCE}_repeats.jsonl", read_repeats(folder / "repeats.txt"), estimates | default
        ),
        unseen_scripts=read_unseen(folder / "jobs" / "split.json"),
        real=[scored(line, real[line]) for line in sorted(real) if line in good],
        alone=list(by_job(rows(results / "estimates_alone.jsonl")).values()),
        failed_on_gpu={line: row for line, row in sorted(by_job(recorded).items()) if line not in good},
        checks=judge(limits, needs, total_bytes),
        filled=rows(truth / f"{REFERENCE}_filled.jsonl"),
        true_minima=by_job(rows(truth / f"{REFERENCE}_minimum.jsonl")),
        our_minima={line: row["minimum_bytes"] for line, row in minima.items() if row.get("minimum_bytes")},
        rivals=read_rivals(results / "rivals.jsonl"),
        causes={row["job"]: row["cause"] for row in rows(folder / "causes.jsonl")},
    )
