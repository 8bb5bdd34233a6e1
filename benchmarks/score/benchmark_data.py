"""Everything that is scored, read from its files and joined by job."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.json_lines import headers, rows
from benchmarks.published_estimates import KINDS, read_estimates, read_provenance
from benchmarks.repeated_jobs import read_repeated_jobs
from benchmarks.score.second_stage_checks import Check, classify_runs
from benchmarks.truth_files import REFERENCE

DIMENSIONS = ("family", "precision", "optimizer")
UNLISTED = ("unlisted", "unknown", "unknown")


def error_percent(estimate: int, truth: int) -> float:
    return 100 * (estimate - truth) / truth


@dataclass(frozen=True, kw_only=True)
class ScoredJob:
    """One recorded job; `estimate` is None while it has not been estimated."""

    line: str
    family: str
    precision: str
    optimizer: str
    truth: dict
    estimate: dict | None

    def pair(self, measure: str = "reserved") -> tuple[int | None, int] | None:
        """Estimate (None: not estimated) and truth; None where there is nothing to compare."""
        truth = self.truth.get(f"{measure}_bytes")
        return (self.estimate.get(f"{measure}_bytes"), truth) if truth and self.estimate is not None else None

    @property
    def error(self) -> float | None:
        """Of the reserved peak, in percent."""
        pair = self.pair()
        return None if pair is None or pair[0] is None else error_percent(pair[0], pair[1])


@dataclass(frozen=True, kw_only=True)
class RepeatedJob:
    """A job that ran several times on the GPU. `estimate` is the one with default options, or else `--until-exit`."""

    line: str
    part: str  # "fit" or "test"
    reserved_bytes: tuple[int, ...]
    estimate: dict | None


@dataclass(frozen=True, kw_only=True)
class BenchmarkData:
    listed: int
    provenance: dict
    scored: list[ScoredJob]
    default: list[ScoredJob]  # with the default options instead of --until-exit
    default_checks: list[Check]  # the second stage, classified by those
    repeated: list[RepeatedJob]
    unseen_scripts: frozenset[str]
    real: list[ScoredJob]
    alone: list[dict]  # a sample, estimated one at a time on an idle machine
    failed_on_gpu: dict[str, dict]
    checks: list[Check]
    filled: list[dict]  # runs on a GPU that another process filled
    true_minima: dict[str, dict]
    our_minima: dict[str, int]
    rivals: dict[str, dict[str, dict]]
    causes: dict[str, str]


def by_job(found: Iterable[dict]) -> dict[str, dict]:
    """The last row of each job."""
    return {row["job"]: row for row in found}


def read_limits(truth: Path, results: Path) -> list[dict]:
    """The runs of the second stage, each with the verdict that is predicted now for its capacity and limit."""
    capacities = read_estimates("capacity", results)
    verdicts = {(row["job"], row["capacity_gib"], row.get("available_bytes")): row["verdict"] for row in capacities}
    limits = rows(truth / f"{REFERENCE}_limits.jsonl")
    return [
        row | {"predicted": verdicts.get((row["job"], row.get("capacity_gib"), row["limit_bytes"]))} for row in limits
    ]


def read_rivals(path: Path) -> dict[str, dict[str, dict]]:
    found = rows(path)
    names = sorted({row["rival"] for row in found})
    return {name: by_job(row for row in found if row["rival"] == name) for name in names}


def read_repeated(path: Path, parts: dict[str, str], estimates: dict[str, dict]) -> list[RepeatedJob]:
    """Runs that completed without memory pressure, of the jobs that are still listed."""
    runs: dict[str, list[int]] = {}
    for row in rows(path):
        if row["job"] in parts and row.get("completed") and not row.get("allocator_retries"):
            runs.setdefault(row["job"], []).append(row["reserved_bytes"])
    return [
        RepeatedJob(line=line, part=parts[line], reserved_bytes=tuple(sizes), estimate=estimates.get(line))
        for line, sizes in sorted(runs.items())
    ]


def read_unseen(path: Path) -> frozenset[str]:
    return frozenset(json.loads(path.read_text())["unseen"]) if path.exists() else frozenset()


def reserved(estimates: Mapping[str, dict]) -> dict[str, int | None]:
    return {line: row.get("reserved_bytes") for line, row in estimates.items()}


def read_data(folder: Path, lists: dict[str, tuple[str, str, str]]) -> BenchmarkData:
    """From truth/ and results/ of the folder; `lists` gives family, precision and optimizer of every listed line."""
    truth, results = folder / "truth", folder / "results"
    recordings, recorded = headers(truth / f"{REFERENCE}.jsonl"), rows(truth / f"{REFERENCE}.jsonl")
    good = by_job(row for row in recorded if row["completed"] and row.get("reserved_bytes"))
    estimates = {kind: by_job(read_estimates(kind, results)) for kind in KINDS}
    peaks, default, real = estimates["peaks"], estimates["default"], estimates["real"]
    limits, total_bytes = read_limits(truth, results), recordings[0]["total_bytes"] if recordings else 0
    parts = read_repeated_jobs(folder / "repeats.txt")
    minima = {line: row.get("minimum_bytes") for line, row in estimates["minimum"].items()}

    def scored(line: str, estimate: dict | None) -> ScoredJob:
        kinds = dict(zip(DIMENSIONS, lists.get(line, UNLISTED), strict=True))
        return ScoredJob(line=line, **kinds, truth=good[line], estimate=estimate)

    return BenchmarkData(
        listed=len(lists),
        provenance={"estimates": {kind: read_provenance(kind, results) for kind in KINDS}, "recordings": recordings},
        scored=[scored(line, peaks.get(line)) for line in sorted(good)],
        default=[scored(line, default[line]) for line in sorted(default) if line in good],
        default_checks=classify_runs([row for row in limits if row["job"] in default], reserved(default), total_bytes),
        repeated=read_repeated(truth / f"{REFERENCE}_repeats.jsonl", parts, peaks | default),
        unseen_scripts=read_unseen(folder / "jobs" / "split.json"),
        real=[scored(line, real[line]) for line in sorted(real) if line in good],
        alone=list(estimates["alone"].values()),
        failed_on_gpu={line: row for line, row in sorted(by_job(recorded).items()) if line not in good},
        checks=classify_runs(limits, reserved(peaks), total_bytes),
        filled=rows(truth / f"{REFERENCE}_filled.jsonl"),
        true_minima=by_job(rows(truth / f"{REFERENCE}_minimum.jsonl")),
        our_minima={line: size for line, size in minima.items() if size},
        rivals=read_rivals(results / "rivals.jsonl"),
        causes={row["job"]: row["cause"] for row in rows(folder / "causes.jsonl")},
    )
