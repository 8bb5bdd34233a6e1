"""The figures of summary.json, from the books: pure functions. `score.py` says how the figures are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

from books import DIMENSIONS, Books, Scored, error_percent
from checks import Check
from defaults import default_options, ranges
from figures import errors, figure

MEASURES = {  # and their titles
    "reserved": "reserved bytes",
    "allocated": "allocated bytes",
    "process": "process, as NVML sees it",
}
STEERED = ("steered", "steered_unseen")
LIMIT_SENSITIVE = "garbage_collection_threshold"  # a share of the limit: a limit is felt before it is reached
OURS = "VeritasEst"
PAPER, SUCCESSOR = "arXiv 2504.03887", "arXiv 2510.21048"
PUBLISHED = [  # as printed in the papers, on their GPUs, with their own, more lenient second stage
    {"method": "VeritasEst, the paper", "mre_percent": 5.46, "pef_percent": 13.6, "seconds": "11", "source": PAPER},
    {"method": "xMem", "mre_percent": 3.66, "pef_percent": 9.5, "seconds": "24", "source": SUCCESSOR},
    {"method": "DNNMem", "mre_percent": 17.6, "pef_percent": 50.5, "seconds": "36-61", "source": SUCCESSOR},
    {"method": "SchedTune", "mre_percent": 30.4, "pef_percent": 51.8, "seconds": "1-2", "source": SUCCESSOR},
    {"method": "LLMem", "mre_percent": 74.4, "pef_percent": 64.6, "seconds": "5-17", "source": SUCCESSOR},
]
KEYS = {
    "schema_version": "raised when a key changes its meaning or goes away",
    "provenance": "machine and build of `estimates` and `estimates_alone`; `recordings`: the GPU's, for each recording",
    "jobs": "numbers: `listed`; `recorded` with peaks; `failed_on_gpu`; of the recorded `estimated`, `answered`",
    "seconds_per_estimate": "`median` and `max` of so many `jobs`; `note`: estimated one or several at a time",
    "all": "a group, of all jobs: `recorded`; errors of `reserved`, `allocated` and `process` (as NVML sees it); "
    "`second_stage`; `cost`, estimated several at a time",
    "default": "the default options against the whole job: `all`, `unseen` (scripts never looked at), `by_family`: "
    "errors, `too_low` by more than 2 %, `too_low_unnamed`, strict PEF, seconds and their ratio; in `until_exit` the "
    "same jobs; `reruns`: the second stage's, judged by these estimates",
    "ranges": "jobs recorded several times, `all`, `fit` and `test`: share of runs covered, widths, how far they moved",
    "not_steered": "the same group without the lists of jobs that values steer",
    "by_family": "a group for each list of jobs",
    "by_precision": "a group for each precision",
    "by_optimizer": "a group for each optimizer",
    "values_real": "a group, `--values real` on steered jobs; in `assumed` the default on the same jobs",
    "second_stage": "PEF and MCP of `reruns` limited to the estimate, `verdicts` at capacities, and `all`",
    "filled": "runs on a full GPU, with the estimated process left free or `short_mib` less: how many were `pressed`",
    "repeats": "the GPU against itself: errors of runs without pressure against the recorded peak of the same job",
    "minimum": "errors of the minimum capacity; `inside`: number within the GPU's own last bracket; `lowest_percent`",
    "under_estimates": "`count` of reserved peaks estimated too low, and how many `without_cause`",
    "rivals": "one for each rival, VeritasEst first; `same_jobs`: VeritasEst on those that this rival answered",
    "published": "figures printed in papers, with their source",
    "bars": "what was promised: `name`, `value`, `bar`, `met` (null: not recorded)",
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
    """Of these estimates; one that broke off has none."""
    result = {}
    for key in ("seconds", "host_bytes"):
        values = [row[key] for row in rows if row.get(key) is not None]
        result |= {f"{key}_median": figure(median, values), f"{key}_max": figure(max, values)}
    return result


def seconds_per_estimate(books: Books) -> dict:
    """Of the sample estimated one at a time, where there is one: estimates that share a machine wait for each other."""
    alone = [row for row in books.alone if "seconds" in row]
    rows = alone or [job.estimate for job in books.scored if job.estimate and "seconds" in job.estimate]
    found = cost(rows)
    note = "one at a time" if alone else "several at a time"
    return {"jobs": len(rows), "median": found["seconds_median"], "max": found["seconds_max"], "note": note}


def group(scored: Sequence[Scored], checks: Sequence[Check]) -> dict:
    pairs = {measure: [pair for job in scored if (pair := job.pair(measure))] for measure in MEASURES}
    lines = {job.line for job in scored}
    return {
        "recorded": len(scored),
        **{measure: errors(found) for measure, found in pairs.items()},
        "second_stage": failures([check for check in checks if check.line in lines]),
        "cost": cost([job.estimate for job in scored if job.estimate is not None]),
    }


def groups(books: Books, dimension: str) -> dict[str, dict]:
    members: dict[str, list[Scored]] = {}
    for job in books.scored:
        members.setdefault(getattr(job, dimension), []).append(job)
    return {name: group(jobs, books.checks) for name, jobs in sorted(members.items())}


def minimum(books: Books) -> dict:
    pairs = [(books.our_minima.get(line), row["minimum_bytes"]) for line, row in books.true_minima.items()]
    signed = [error_percent(ours, truth) for ours, truth in pairs if ours is not None]
    inside = sum(
        row["failed_bytes"] < books.our_minima.get(line, 0) <= row["minimum_bytes"]
        for line, row in books.true_minima.items()
    )
    return errors(pairs) | {"inside": inside, "lowest_percent": figure(min, signed)}


def is_pressed(row: dict) -> bool:
    """Whether a run on the GPU had less memory than it would have taken."""
    return not row["completed"] or row.get("allocator_retries", 0) > 0


def repeats(books: Books) -> dict:
    """The GPU against itself: runs of the second stage that no limit pressed, as estimates of the recorded peak."""
    recorded = {job.line: job.truth["reserved_bytes"] for job in books.scored}
    pairs = [
        (check.row.get("reserved_bytes"), recorded[check.line])
        for check in books.checks
        if not is_pressed(check.row) and check.row["limit_bytes"] >= recorded.get(check.line, math.inf)
        if LIMIT_SENSITIVE not in check.line
    ]
    return errors(pairs)


def filled(books: Books) -> list[dict]:
    found = []
    for short in sorted({row["short_bytes"] for row in books.filled}):
        runs = [is_pressed(row) for row in books.filled if row["short_bytes"] == short]
        found.append({"short_mib": short >> 20, "runs": len(runs), "pressed": sum(runs)})
    return found


def would_work(estimate: int, truth: dict, minimum_bytes: int | None) -> bool | None:
    """Whether a job limited to this estimate completes, judged without running it; None: it cannot be known."""
    if estimate >= truth["reserved_bytes"]:
        return True
    if estimate < truth["allocated_bytes"]:
        return False
    return None if minimum_bytes is None else estimate >= minimum_bytes


def rival_figures(books: Books, rows: dict[str, dict]) -> dict:
    """Of one tool's `estimate_bytes` and `seconds`, by job; only jobs with a recorded truth are counted."""
    truth = {job.line: job.truth for job in books.scored if job.line in rows}
    minima = books.our_minima | {line: row["minimum_bytes"] for line, row in books.true_minima.items()}
    answered = [line for line in truth if rows[line]["estimate_bytes"] is not None]
    works = [would_work(rows[line]["estimate_bytes"], truth[line], minima.get(line)) for line in answered]

    def errors_to(measure: str) -> dict:
        return errors([(rows[line]["estimate_bytes"], row[measure]) for line, row in truth.items()])

    return errors_to("reserved_bytes") | {
        "mre_allocated_percent": errors_to("allocated_bytes")["mre_percent"],
        "pef_percent": figure(fmean, [100 * (result is False) for result in works]),
        "undecided": works.count(None),
        "seconds_median": figure(median, [rows[line]["seconds"] for line in answered]),
    }


def rivals(books: Books) -> list[dict]:
    """Each rival on the jobs it was asked for, and before them VeritasEst on all of those."""
    if not books.rivals:
        return []
    ours = {
        job.line: {"estimate_bytes": job.estimate.get("reserved_bytes"), "seconds": job.estimate.get("seconds")}
        for job in books.scored
        if job.estimate is not None
    }
    asked = {line for rows in books.rivals.values() for line in rows}
    together = rival_figures(books, {line: row for line, row in ours.items() if line in asked})
    # The one tool here that gives the allocated peak as a number of its own.
    allocated = [pair for job in books.scored if job.line in asked and (pair := job.pair("allocated"))]
    together["mre_allocated_percent"] = errors(allocated)["mre_percent"]
    version = (books.provenance["estimates"] or {}).get("veritasest")
    table = [{"rival": OURS, "version": version} | together | {"same_jobs": together}]
    for name, rows in books.rivals.items():
        same = {line: ours[line] for line, row in rows.items() if row["estimate_bytes"] is not None and line in ours}
        version = next((row["version"] for row in rows.values() if row.get("version")), None)
        figures = {"rival": name, "version": version} | rival_figures(books, rows)
        table.append(figures | {"same_jobs": rival_figures(books, same)})
    return table


def default_bars(summary: dict) -> list[tuple]:
    """Of the default options and of the ranges: name, value, lower bound, upper bound, unit."""
    found, test = summary["default"]["all"], summary["ranges"]["test"]
    exact, covered = found["exact_share"], test["covered_share"]
    return [
        ("default options: exact to the byte", None if exact is None else 100 * exact, 90, None, " %"),
        ("default options: p95", found["p95_percent"], None, 1, " %"),
        ("default options: too low, unnamed", found["too_low_unnamed"] if found["answered"] else None, None, 0, ""),
        ("default options: strict PEF", found["pef_upper_percent"], None, 0.5, " %"),
        ("jobs recorded several times", summary["ranges"]["all"]["jobs"], 60, None, ""),
        ("repeats covered by ranges, test jobs", None if covered is None else 100 * covered, 95, None, " %"),
    ]


def bars(summary: dict) -> list[dict]:
    """What the project promises of this benchmark, and whether it holds."""
    reserved, low, stage = summary["all"]["reserved"], summary["minimum"], summary["second_stage"]
    recorded = {name: found["recorded"] for name, found in summary["by_family"].items()}
    exact, furthest = reserved["exact_share"], low["worst_percent"]
    under = summary["under_estimates"]["without_cause"] if reserved["answered"] else None
    promised = [  # name, value, lower bound, upper bound, unit
        ("recorded jobs", summary["jobs"]["recorded"], 600, None, ""),
        ("of them the papers' CNN protocol", recorded.get("papers_cnn", 0), 240, None, ""),
        ("of them the papers' Transformers", recorded.get("papers_transformer", 0), 120, None, ""),
        ("reruns limited to the estimate", stage["reruns"]["checks"], 150, None, ""),
        ("verdicts at limited capacity", stage["verdicts"]["checks"], 150, None, ""),
        ("true minimum capacities", low["jobs"], 40, None, ""),
        ("MRE of reserved, as 0.00 %", reserved["mre_percent"], None, 0.005, " %"),
        ("reserved exact to the byte", None if exact is None else 100 * exact, 85, None, " %"),
        ("p95 of reserved", reserved["p95_percent"], None, 1, " %"),
        ("strict PEF", stage["all"]["pef_percent"], None, 0.5, " %"),
        ("minimum capacity, furthest off", None if furthest is None else abs(furthest), None, 1, " %"),
        ("minimum capacity, lowest", low["lowest_percent"], -0.5, None, " %"),
        ("under-estimates without a cause", under, None, 0, ""),
        *default_bars(summary),
    ]
    result = []
    for name, value, least, most, unit in promised:
        bar = f"at least {least}{unit}" if most is None else f"at most {most}{unit}"
        met = None if value is None else (value >= least if most is None else value <= most)
        result.append({"name": name, "value": value, "unit": unit.strip(), "bar": bar, "met": met})
    return result


def summarise(books: Books) -> dict:
    under = [job for job in books.scored if job.error is not None and job.error < 0]
    estimated = [job for job in books.scored if job.estimate is not None]
    real = {job.line for job in books.real}
    kinds = {kind: [check for check in books.checks if check.kind == kind] for kind in ("rerun", "verdict")}
    summary = {
        "schema_version": 1,
        "provenance": books.provenance,
        "jobs": {
            "listed": books.listed,
            "recorded": len(books.scored),
            "failed_on_gpu": len(books.failed_on_gpu),
            "estimated": len(estimated),
            "answered": sum(job.error is not None for job in estimated),
        },
        "seconds_per_estimate": seconds_per_estimate(books),
        "all": group(books.scored, books.checks),
        "default": default_options(books),
        "ranges": ranges(books),
        "not_steered": group([job for job in books.scored if job.family not in STEERED], books.checks),
        **{f"by_{dimension}": groups(books, dimension) for dimension in DIMENSIONS},
        "values_real": group(books.real, [])
        | {"assumed": group([job for job in books.scored if job.line in real], [])},
        "second_stage": {
            "all": failures(books.checks),
            "reruns": failures(kinds["rerun"]),
            "verdicts": failures(kinds["verdict"]),
        },
        "filled": filled(books),
        "repeats": repeats(books),
        "minimum": minimum(books),
        "under_estimates": {
            "count": len(under),
            "without_cause": sum(job.line not in books.causes for job in under),
        },
        "rivals": rivals(books),
        "published": PUBLISHED,
    }
    return summary | {"bars": bars(summary)}
