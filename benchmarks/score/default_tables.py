"""The tables of the default options against the whole job, and of the ranges against repeated runs."""

from __future__ import annotations

from pathlib import Path

from benchmarks.score.benchmark_data import BenchmarkData
from benchmarks.score.default_options import TOLERATED_PERCENT, bounds, whole_jobs
from benchmarks.score.markdown import NOTHING, markdown, number, percent, share

HEADERS = [
    "",
    "jobs",
    "not estimated",
    "exact",
    "MRE",
    "p95",
    "worst",
    f"too low > {TOLERATED_PERCENT:g} %",
    "not reported",
]
HEADERS += ["PEF", "PEF, upper end", "seconds", "of --until-exit"]
FULL = [f"--until-exit: {name}" for name in ("exact", "MRE", "p95", "worst", "PEF")]
NOTE = (
    "The whole job's recorded peak against the default options, and `--until-exit` on the same jobs. Not reported: too "
    "low by as much, with nothing reported as not reached and no range that includes the truth. PEF, strict: share of "
    "the answers below the recorded reserved peak, for the point estimate and for the upper end of its ranges; with "
    "that much memory PyTorch would at least have to free its cache. Seconds: the median, and the median of their "
    "ratio to those of `--until-exit`."
)
RANGE_NOTE = (
    "Jobs recorded five times. A range covers the point estimate and the effects of timing and addresses; without a "
    "range, a run counts as covered if it equals the point estimate. Width and spread in percent: of the estimate's "
    "range, and of the runs on the GPU."
)


def sizes(found: dict) -> list[object]:
    middle = [percent(found[f"{key}_percent"]) for key in ("mre", "p95")]
    return [share(found["exact_share"]), *middle, percent(found["worst_percent"], "+")]


def whole_job_cells(found: dict) -> list[object]:
    counts = [found["jobs"], found["jobs"] - found["answered"]]
    low = [found["too_low"], found["too_low_unnamed"]]
    failures = [percent(found[key]) for key in ("pef_percent", "pef_upper_percent")]
    ratio = found["seconds_ratio"]
    cost = [number(found["seconds_median"]), "-" if ratio is None else f"{ratio:.2f}"]
    until_exit = found["until_exit"]
    return [*counts, *sizes(found), *low, *failures, *cost, *sizes(until_exit), percent(until_exit["pef_percent"])]


def default_tables(data: BenchmarkData, summary: dict) -> list[str]:
    found = summary["default"]
    named = {"all": found["all"], "scripts not used in development": found["unseen"], **found["by_family"]}
    rows = [[name, *whole_job_cells(figures)] for name, figures in named.items() if figures["jobs"]]
    reruns = found["reruns"]
    checked = f" Second-stage reruns that apply to these estimates: {reruns['checks']}, failed {reruns['failed']}."
    low = [
        [f"`{job.job.line}`", job.job.family, percent(job.error, "+"), *job.pair, not_reached(job.job.estimate)]
        for job in sorted(whole_jobs(data), key=lambda job: job.error or 0)
        if job.is_too_low
    ]
    headers = ["job", "family", "error", "estimate", "truth", "reported as not reached"]
    none = "None." if rows else NOTHING
    title = f"Default options: every estimate more than {TOLERATED_PERCENT:g} % too low"
    return [
        markdown("Default options against the whole job", [*HEADERS, *FULL], rows, note=NOTE + checked),
        markdown(title, headers, low, empty=none),
        *range_tables(data, summary),
    ]


def not_reached(estimate: dict) -> str:
    """Code that would have run later, with its line in the job's script."""
    found = estimate.get("not_reached") or []
    return "; ".join(f"{entry['what']} ({Path(entry['file']).name}:{entry['line']})" for entry in found) or "-"


def range_tables(data: BenchmarkData, summary: dict) -> list[str]:
    headers = [
        "",
        "jobs",
        "runs",
        "covered",
        "jobs that varied",
        "with a range",
        "range, no variation",
        "varied, no range",
    ]
    headers += ["width, median", "p95", "spread, median", "p95"]
    counts = ["moved", "with_range", "range_but_still", "moved_without_range"]
    widths = [f"{name}_{key}_percent" for name in ("width", "spread") for key in ("median", "p95")]
    rows = [
        [part, found["jobs"], found["runs"], share(found["covered_share"]), *(found[key] for key in counts)]
        + [percent(found[key]) for key in widths]
        for part, found in summary["ranges"].items()
        if found["jobs"]
    ]
    outside = []
    for job in data.repeated:
        ends = bounds(job.estimate or {})
        if ends and not all(ends[0] <= size <= ends[1] for size in job.reserved_bytes):
            outside.append([f"`{job.line}`", job.part, *ends, " ".join(map(str, sorted(set(job.reserved_bytes))))])
    return [
        markdown("Ranges against repeated runs", headers, rows, note=RANGE_NOTE),
        markdown(
            "Repeated runs outside the range",
            ["job", "part", "low", "high", "reserved bytes of its runs"],
            outside,
            empty="None." if rows else NOTHING,
        ),
    ]
