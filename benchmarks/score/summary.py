"""The figures of summary.json: pure functions of the benchmark's data. `publish.py` defines the figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

from benchmarks.record.gpu_runs import had_memory_pressure
from benchmarks.score.benchmark_data import DIMENSIONS, BenchmarkData, ScoredJob, error_percent
from benchmarks.score.default_options import default_options, ranges
from benchmarks.score.error_figures import errors, figure
from benchmarks.score.rival_figures import PUBLISHED, rivals
from benchmarks.score.second_stage_checks import Check
from benchmarks.score.targets import targets

SCHEMA_VERSION = 2
MEASURES = {  # and their titles
    "reserved": "reserved bytes",
    "allocated": "allocated bytes",
    "process": "process memory, as reported by NVML",
}
VALUE_DEPENDENT = ("steered", "steered_unseen")  # lists of jobs whose memory depends on computed values
LIMIT_SENSITIVE = "garbage_collection_threshold"  # a share of the limit: it acts before the limit is reached
KEYS = {
    "schema_version": "raised when a key changes its meaning or is removed",
    "provenance": "`estimates`: machine, versions and commit of each kind of estimate; `recordings`: the GPU's",
    "jobs": "numbers: `listed`; `recorded` with peaks; `failed_on_gpu`; of the recorded `estimated`, `answered`",
    "seconds_per_estimate": "`median` and `max` over `jobs`; `note`: estimated one or several at a time",
    "all": "a group, of all jobs: `recorded`; errors of `reserved`, `allocated` and `process` (as reported by NVML); "
    "`second_stage`; `cost`, estimated several at a time",
    "default": "the default options against the whole job: `all`, `unseen` (scripts not used in development), "
    "`by_family`: errors, `too_low` by more than 2 %, `too_low_unnamed` (nothing reported about it), strict PEF, "
    "seconds and their ratio; in `until_exit` the same jobs; `reruns`: second-stage runs compared with these estimates",
    "ranges": "jobs recorded several times, `all`, `fit` and `test`: share of runs covered, widths, how far runs vary",
    "without_value_dependent": "a group without the jobs whose memory depends on computed values",
    "by_family": "a group for each list of jobs",
    "by_precision": "a group for each precision",
    "by_optimizer": "a group for each optimizer",
    "values_real": "a group, `--values real` on value-dependent jobs; in `assumed` the default on the same jobs",
    "second_stage": "PEF and MCP of `reruns` limited to the estimate, `verdicts` at capacities, and `all`",
    "filled": "runs on a full GPU, with the estimated process size left free or `short_mib` less: `runs`, and how many "
    "were `under_pressure`",
    "repeats": "the GPU compared with itself: errors of runs without memory pressure against the recorded peak",
    "minimum": "errors of the minimum capacity; `inside`: number within the last bracket of the search on the GPU; "
    "`lowest_percent`",
    "under_estimates": "`count` of reserved peaks estimated too low, and how many `without_cause`",
    "rivals": "one for each other tool, VeritasEst first; `same_jobs`: VeritasEst on the jobs which that tool answered",
    "published": "figures printed in papers, with their source",
    "targets": "`name`, `value`, `target`, `met` (null: not recorded)",
}


def failures(checks: Sequence[Check]) -> dict:
    """PEF and MCP of these checks."""
    counted = [check for check in checks if check.outcome != "void"]
    failed = [check.outcome == "fails" for check in counted]
    return {
        "checks": len(counted),
        "failed": sum(failed),
        "void": len(checks) - len(counted),
        "pef_percent": figure(fmean, [100 * fails for fails in failed]),
        "mcp_bytes": round(fmean(check.saved_bytes for check in counted)) if counted else None,
    }


def cost(rows: Sequence[dict]) -> dict:
    """Of these estimates; one that was not completed has none."""
    result = {}
    for key in ("seconds", "host_bytes"):
        values = [row[key] for row in rows if row.get(key) is not None]
        result |= {f"{key}_median": figure(median, values), f"{key}_max": figure(max, values)}
    return result


def seconds_per_estimate(data: BenchmarkData) -> dict:
    """Of the sample estimated one at a time, if there is one: estimates that share a machine slow each other down."""
    alone = [row for row in data.alone if "seconds" in row]
    rows = alone or [job.estimate for job in data.scored if job.estimate and "seconds" in job.estimate]
    found = cost(rows)
    note = "one at a time" if alone else "several at a time"
    return {"jobs": len(rows), "median": found["seconds_median"], "max": found["seconds_max"], "note": note}


def group(scored: Sequence[ScoredJob], checks: Sequence[Check]) -> dict:
    pairs = {measure: [pair for job in scored if (pair := job.pair(measure))] for measure in MEASURES}
    lines = {job.line for job in scored}
    return {
        "recorded": len(scored),
        **{measure: errors(found) for measure, found in pairs.items()},
        "second_stage": failures([check for check in checks if check.line in lines]),
        "cost": cost([job.estimate for job in scored if job.estimate is not None]),
    }


def groups(data: BenchmarkData, dimension: str) -> dict[str, dict]:
    members: dict[str, list[ScoredJob]] = {}
    for job in data.scored:
        members.setdefault(getattr(job, dimension), []).append(job)
    return {name: group(jobs, data.checks) for name, jobs in sorted(members.items())}


def minimum(data: BenchmarkData) -> dict:
    pairs = [(data.our_minima.get(line), row["minimum_bytes"]) for line, row in data.true_minima.items()]
    signed = [error_percent(ours, truth) for ours, truth in pairs if ours is not None]
    inside = sum(
        row["failed_bytes"] < data.our_minima.get(line, 0) <= row["minimum_bytes"]
        for line, row in data.true_minima.items()
    )
    return errors(pairs) | {"inside": inside, "lowest_percent": figure(min, signed)}


def repeats(data: BenchmarkData) -> dict:
    """The GPU compared with itself: second-stage runs without memory pressure, as estimates of the recorded peak."""
    recorded = {job.line: job.truth["reserved_bytes"] for job in data.scored}
    pairs = [
        (check.row.get("reserved_bytes"), recorded[check.line])
        for check in data.checks
        if not had_memory_pressure(check.row) and check.row["limit_bytes"] >= recorded.get(check.line, math.inf)
        if LIMIT_SENSITIVE not in check.line
    ]
    return errors(pairs)


def filled(data: BenchmarkData) -> list[dict]:
    found = []
    for short in sorted({row["short_bytes"] for row in data.filled}):
        runs = [had_memory_pressure(row) for row in data.filled if row["short_bytes"] == short]
        found.append({"short_mib": short >> 20, "runs": len(runs), "under_pressure": sum(runs)})
    return found


def job_counts(data: BenchmarkData) -> dict:
    estimated = [job for job in data.scored if job.estimate is not None]
    return {
        "listed": data.listed,
        "recorded": len(data.scored),
        "failed_on_gpu": len(data.failed_on_gpu),
        "estimated": len(estimated),
        "answered": sum(job.error is not None for job in estimated),
    }


def values_real(data: BenchmarkData) -> dict:
    lines = {job.line for job in data.real}
    return group(data.real, []) | {"assumed": group([job for job in data.scored if job.line in lines], [])}


def second_stage(checks: Sequence[Check]) -> dict:
    kinds = {kind: [check for check in checks if check.kind == kind] for kind in ("rerun", "verdict")}
    return {"all": failures(checks), "reruns": failures(kinds["rerun"]), "verdicts": failures(kinds["verdict"])}


def under_estimates(data: BenchmarkData) -> dict:
    low = [job for job in data.scored if job.error is not None and job.error < 0]
    return {"count": len(low), "without_cause": sum(job.line not in data.causes for job in low)}


def summarise(data: BenchmarkData) -> dict:
    plain = [job for job in data.scored if job.family not in VALUE_DEPENDENT]
    summary = {
        "schema_version": SCHEMA_VERSION,
        "provenance": data.provenance,
        "jobs": job_counts(data),
        "seconds_per_estimate": seconds_per_estimate(data),
        "all": group(data.scored, data.checks),
        "default": default_options(data),
        "ranges": ranges(data),
        "without_value_dependent": group(plain, data.checks),
        **{f"by_{dimension}": groups(data, dimension) for dimension in DIMENSIONS},
        "values_real": values_real(data),
        "second_stage": second_stage(data.checks),
        "filled": filled(data),
        "repeats": repeats(data),
        "minimum": minimum(data),
        "under_estimates": under_estimates(data),
        "rivals": rivals(data),
        "published": PUBLISHED,
    }
    return summary | {"targets": targets(summary)}
