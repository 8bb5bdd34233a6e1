"""Other tools on the same jobs, and VeritasEst on the jobs that each of them answered."""

from __future__ import annotations

from statistics import fmean, median

from benchmarks.score.benchmark_data import BenchmarkData
from benchmarks.score.error_figures import errors, figure

OURS = "VeritasEst"
PAPER, SUCCESSOR = "arXiv 2504.03887", "arXiv 2510.21048"
PUBLISHED = [  # as printed in the papers: their own GPUs, and a more lenient second stage
    {"method": "VeritasEst, the paper", "mre_percent": 5.46, "pef_percent": 13.6, "seconds": "11", "source": PAPER},
    {"method": "xMem", "mre_percent": 3.66, "pef_percent": 9.5, "seconds": "24", "source": SUCCESSOR},
    {"method": "DNNMem", "mre_percent": 17.6, "pef_percent": 50.5, "seconds": "36-61", "source": SUCCESSOR},
    {"method": "SchedTune", "mre_percent": 30.4, "pef_percent": 51.8, "seconds": "1-2", "source": SUCCESSOR},
    {"method": "LLMem", "mre_percent": 74.4, "pef_percent": 64.6, "seconds": "5-17", "source": SUCCESSOR},
]


def would_work(estimate: int, truth: dict, minimum_bytes: int | None) -> bool | None:
    """Whether a job limited to this estimate completes, without running it; None: cannot be known."""
    if estimate >= truth["reserved_bytes"]:
        return True
    if estimate < truth["allocated_bytes"]:
        return False
    return None if minimum_bytes is None else estimate >= minimum_bytes


def rival_figures(data: BenchmarkData, rows: dict[str, dict]) -> dict:
    """Of one tool's `estimate_bytes` and `seconds` by job; only jobs with a recorded truth count."""
    truth = {job.line: job.truth for job in data.scored if job.line in rows}
    minima = data.our_minima | {line: row["minimum_bytes"] for line, row in data.true_minima.items()}
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


def rivals(data: BenchmarkData) -> list[dict]:
    """Each tool on the jobs it was run on, and before them VeritasEst on all of those."""
    if not data.rivals:
        return []
    ours = {
        job.line: {"estimate_bytes": job.estimate.get("reserved_bytes"), "seconds": job.estimate.get("seconds")}
        for job in data.scored
        if job.estimate is not None
    }
    asked = {line for rows in data.rivals.values() for line in rows}
    together = rival_figures(data, {line: row for line, row in ours.items() if line in asked})
    # The only tool here that reports the allocated peak separately.
    allocated = [pair for job in data.scored if job.line in asked and (pair := job.pair("allocated"))]
    together["mre_allocated_percent"] = errors(allocated)["mre_percent"]
    version = (data.provenance["estimates"]["peaks"] or {}).get("veritasest")
    table = [{"rival": OURS, "version": version} | together | {"same_jobs": together}]
    for name, rows in data.rivals.items():
        same = {line: ours[line] for line, row in rows.items() if row["estimate_bytes"] is not None and line in ours}
        version = next((row["version"] for row in rows.values() if row.get("version")), None)
        figures = {"rival": name, "version": version} | rival_figures(data, rows)
        table.append(figures | {"same_jobs": rival_figures(data, same)})
    return table
