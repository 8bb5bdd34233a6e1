"""The page tables.md."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.provenance import is_clean
from benchmarks.score.benchmark_data import DIMENSIONS, BenchmarkData, ScoredJob, error_percent
from benchmarks.score.default_tables import default_tables
from benchmarks.score.markdown import NOTHING, gib, markdown, number, percent, share
from benchmarks.score.rival_figures import OURS
from benchmarks.score.second_stage_checks import Check
from benchmarks.score.summary import KEYS, MEASURES

ERRORS = ["jobs", "not estimated", "MRE", "mean", "p95", "worst", "bias", "too low", "exact"]


def error_cells(found: dict) -> list[object]:
    sizes = [percent(found[f"{key}_percent"]) for key in ("mre", "mean", "p95")]
    signed = [percent(found[f"{key}_percent"], "+") for key in ("worst", "bias")]
    missing = found["jobs"] - found["answered"]
    return [found["jobs"], missing, *sizes, *signed, share(found["under_share"]), share(found["exact_share"])]


def stage_cells(found: dict) -> list[object]:
    return [found["checks"], found["failed"], percent(found["pef_percent"]), gib(found["mcp_bytes"])]


def cost_cells(found: dict) -> list[object]:
    seconds = [number(found[f"seconds_{key}"]) for key in ("median", "max")]
    return [*seconds, *(gib(found[f"host_bytes_{key}"]) for key in ("median", "max"))]


def group_tables(summary: dict) -> list[str]:
    titles = {"all jobs": summary["all"], "without value-dependent jobs": summary["without_value_dependent"]}
    named = [("All jobs", titles), *((f"By {key}", summary[f"by_{key}"]) for key in DIMENSIONS)]
    stage = ["checks", "failed", "PEF", "MCP, GiB", "seconds, median", "maximum", "host GiB, median", "maximum"]
    tables = []
    for title, found in named:
        for measure, measured in MEASURES.items():
            rows = [[name, *error_cells(values[measure])] for name, values in found.items() if values[measure]["jobs"]]
            tables.append(markdown(f"{title}: {measured}", ["", *ERRORS], rows))
        rows = [[name, *stage_cells(v["second_stage"]), *cost_cells(v["cost"])] for name, v in found.items()]
        tables.append(markdown(f"{title}: second stage and cost", ["", *stage], rows))
    real = summary["values_real"]
    named = {"`--values real`": real, "default, same jobs": real["assumed"]} if real["recorded"] else {}
    rows = [[name, *error_cells(v["reserved"]), *cost_cells(v["cost"])] for name, v in named.items()]
    return [*tables, markdown("Value-dependent jobs: reserved bytes", ["", *ERRORS, *stage[4:]], rows)]


def capacity_rows(checks: Sequence[Check]) -> list[list[object]]:
    """For each capacity: correct verdicts of both kinds, wrong ones, void ones."""
    rows = []
    verdicts = [check for check in checks if check.kind == "verdict"]
    for capacity in sorted({check.row["capacity_gib"] for check in verdicts}):
        here = [check for check in verdicts if check.row["capacity_gib"] == capacity]
        right = [check.row["predicted"] for check in here if check.outcome == "works"]
        wrong = [sum(check.outcome == outcome for check in here) for outcome in ("fails", "void")]
        rows.append([capacity, right.count("fits"), right.count("does_not_fit"), *wrong])
    return rows


def bad_checks(checks: Sequence[Check]) -> list[list[object]]:
    rows = []
    for check in [check for check in checks if check.outcome != "works"]:
        what = "completed" if check.row["completed"] else check.row["error"]
        where = [f"`{check.line}`", check.kind, check.outcome, gib(check.row["limit_bytes"])]
        rows.append([*where, check.row["predicted"] or "-", what])
    return rows


def minimum_tables(data: BenchmarkData, summary: dict) -> list[str]:
    rows = []
    for line, row in sorted(data.true_minima.items()):
        ours, truth = data.our_minima.get(line), row["minimum_bytes"]
        signed = None if ours is None else error_percent(ours, truth)
        rows.append([f"`{line}`", truth, row["failed_bytes"], ours or "-", percent(signed, "+")])
    inside = f"Within the last bracket of the search on the GPU: {summary['minimum']['inside']}."
    headers = ["job", "completed at", "failed at", "estimate", "error"]
    return [
        markdown("Minimum capacity", ["", *ERRORS], [["all", *error_cells(summary["minimum"])]] if rows else []),
        markdown("Minimum capacity by job", headers, rows, note=inside),
    ]


def stage_tables(data: BenchmarkData, summary: dict) -> list[str]:
    rows = [[name, *stage_cells(found), found["void"]] for name, found in summary["second_stage"].items()]
    by_capacity = ["capacity, GiB", "fits, correct", "does not fit, correct", "wrong", "void"]
    headers = ["job", "check", "outcome", "limit, GiB", "predicted", "what happened"]
    none = "None." if data.checks else NOTHING
    again = [["second run", *error_cells(summary["repeats"])]] if summary["repeats"]["jobs"] else []
    twice = "Runs with a limit at or above the recorded peak. Where two runs differ, no estimate is exact for both."
    full = [[f"{row['short_mib']} MiB", row["runs"], row["under_pressure"]] for row in summary["filled"]]
    filled = "Another process leaves exactly the estimated process size free on the GPU, or less; PyTorch has no limit."
    return [
        markdown("The GPU compared with itself: reserved bytes", ["", *ERRORS], again, note=twice),
        markdown("A full GPU", ["less than estimated by", "runs", "under memory pressure"], full, note=filled),
        markdown("Second stage", ["", "checks", "failed", "PEF", "MCP, GiB", "void"], rows if data.checks else []),
        markdown("Second stage: verdicts by capacity", by_capacity, capacity_rows(data.checks)),
        markdown("Second stage: every failed or void check", headers, bad_checks(data.checks), empty=none),
        *minimum_tables(data, summary),
    ]


def rival_tables(summary: dict) -> list[str]:
    rows = []
    for found in summary["rivals"]:
        sizes = [percent(found["mre_percent"]), percent(found["mre_allocated_percent"])]
        other = [percent(found["bias_percent"], "+"), percent(found["pef_percent"]), found["undecided"]]
        same = [percent(found["same_jobs"][key]) for key in ("mre_percent", "pef_percent")]
        name = f"{found['rival']} {found['version'] or ''}".strip()
        rows.append([name, found["jobs"], found["answered"], *sizes, *other, number(found["seconds_median"]), *same])
    headers = ["", "jobs", "answered", "MRE", "MRE to allocated", "mean signed", "PEF", "undecided", "seconds, median"]
    note = (
        "PEF without a run on the GPU, over the jobs each tool answered: an estimate of at least the reserved peak "
        "works, one below the allocated peak fails, and in between the minimum capacity decides; where that is not "
        "known, the job is undecided and counts as working."
    )
    published = [
        [row["method"], f"{row['mre_percent']} %", f"{row['pef_percent']} %", row["seconds"], row["source"]]
        for row in summary["published"]
    ]
    printed = "On other jobs and GPUs, with a second stage of their own: not comparable with the table above."
    return [
        markdown(
            "Other tools on the same jobs", [*headers, f"{OURS} MRE on these", f"{OURS} PEF on these"], rows, note=note
        ),
        markdown("Figures printed in papers", ["method", "MRE", "PEF", "seconds", "source"], published, note=printed),
    ]


def job_tables(data: BenchmarkData) -> list[str]:
    known = sorted((job for job in data.scored if job.error is not None), key=lambda job: job.error)
    headers = ["job", "family", "error", "estimate", "truth"]

    def cells(job: ScoredJob) -> list[object]:
        return [f"`{job.line}`", job.family, percent(job.error, "+"), *job.pair()]

    under = [[*cells(job), data.causes.get(job.line, "not known")] for job in known if job.error < 0]
    far = [
        [*cells(job), job.estimate.get("assumed", "-"), " ".join(job.estimate.get("not_modelled") or ["-"])]
        for job in known
        if abs(job.error) > 1
    ]
    failed = [
        [f"`{line}`", "on the GPU", row.get("error") or "completed, no peaks counted"]
        for line, row in data.failed_on_gpu.items()
    ]
    unanswered = [job for job in data.scored if job.estimate is not None and job.error is None]
    failed += [
        [f"`{job.line}`", "estimate", f"{job.estimate.get('verdict')} {job.estimate.get('error') or ''}".strip()]
        for job in unanswered
    ]
    none = "None." if known else NOTHING
    return [
        markdown("Every under-estimate of reserved bytes", [*headers, "cause"], under, empty=none),
        markdown("Every job off by more than 1 %", [*headers, "assumed values", "not modelled"], far, empty=none),
        markdown("Jobs that failed", ["job", "where", "why"], failed, empty="None." if data.scored else NOTHING),
    ]


def shown_value(target: dict) -> str:
    value = target["value"]
    return "not recorded" if value is None else percent(value) if target["unit"] else str(value)


def status(target: dict) -> str:
    return {True: "met", False: "missed", None: "not recorded"}[target["met"]]


def seconds_line(summary: dict) -> str:
    found = summary["seconds_per_estimate"]
    if found["median"] is None:
        return "Seconds per estimate: not recorded."
    times = f"median {number(found['median'])}, maximum {number(found['max'])}"
    return f"Seconds per estimate: {times} ({found['jobs']} jobs, {found['note']})."


def provenance_table(summary: dict) -> str:
    """The commit and the machine of each kind of estimate."""
    rows = []
    for kind, found in summary["provenance"]["estimates"].items():
        if found is not None:
            commit = found.get("commit")
            shown = f"`{commit}`" if is_clean(commit) else f"`{commit}`, **not a clean commit**"
            rows.append([kind, shown, *(found.get(key, "-") for key in ("created", "torch", "python", "cpus"))])
    note = "`python -m benchmarks.estimate.jobs --help` explains the kinds of estimates."
    return markdown("Provenance", ["estimates", "commit", "created", "torch", "Python", "CPUs"], rows, note=note)


def page(data: BenchmarkData, summary: dict) -> str:
    targets = [[found["name"], found["target"], shown_value(found), status(found)] for found in summary["targets"]]
    counts = ", ".join(f"{value} {key.replace('_', ' ')}" for key, value in summary["jobs"].items())
    parts = [
        f"# Accuracy in tables\nWritten by `make score`; `benchmarks/score/publish.py` defines the figures. "
        f"Jobs: {counts}.\n{seconds_line(summary)} The cost tables are of several estimates at a time.\n",
        markdown("Targets", ["", "target", "measured", ""], targets),
        provenance_table(summary),
        *default_tables(data, summary),
        *group_tables(summary),
        *stage_tables(data, summary),
        *rival_tables(summary),
        *job_tables(data),
        markdown("Keys of summary.json", ["key", "meaning"], [[f"`{key}`", text] for key, text in KEYS.items()]),
    ]
    return "\n".join(parts)
