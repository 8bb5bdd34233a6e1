"""The markdown of tables.md, from the books and their summary."""

from __future__ import annotations

from collections.abc import Sequence

from books import DIMENSIONS, Books, Scored, error_percent
from checks import Check
from default_tables import default_tables
from markdown_tables import NOTHING, gib, markdown, number, percent, share
from scoring import KEYS, MEASURES, OURS

ERRORS = ["jobs", "no answer", "MRE", "mean", "p95", "worst", "bias", "too low", "exact"]


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
    titles = {"all jobs": summary["all"], "without steered lists": summary["not_steered"]}
    named = [("All jobs", titles), *((f"By {key}", summary[f"by_{key}"]) for key in DIMENSIONS)]
    stage = ["checks", "failed", "PEF", "MCP, GiB", "seconds, median", "most", "host GiB, median", "most"]
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
    return [*tables, markdown("Jobs that values steer: reserved bytes", ["", *ERRORS, *stage[4:]], rows)]


def capacity_rows(checks: Sequence[Check]) -> list[list[object]]:
    """For each capacity: verdicts that fit and did, that did not fit and did not, wrong ones, void ones."""
    rows = []
    verdicts = [check for check in checks if check.kind == "verdict"]
    for capacity in sorted({check.row["capacity_gib"] for check in verdicts}):
        here = [check for check in verdicts if check.row["capacity_gib"] == capacity]
        right = [check.row["predicted"] for check in here if check.outcome == "works"]
        wrong = [sum(check.outcome == outcome for check in here) for outcome in ("fails", "void")]
        rows.append([capacity, right.count("fits"), right.count("does_not_fit"), *wrong])
    return rows


def stage_tables(books: Books, summary: dict) -> list[str]:
    rows = [[name, *stage_cells(found), found["void"]] for name, found in summary["second_stage"].items()]
    by_capacity = ["capacity, GiB", "fits, rightly", "does not fit, rightly", "wrong", "void"]
    bad = []
    for check in [check for check in books.checks if check.outcome != "works"]:
        what = "completed" if check.row["completed"] else check.row["error"]
        where = [f"`{check.line}`", check.kind, check.outcome, gib(check.row["limit_bytes"])]
        bad.append([*where, check.row["predicted"] or "-", what])
    minima = []
    for line, row in sorted(books.true_minima.items()):
        ours, truth = books.our_minima.get(line), row["minimum_bytes"]
        signed = None if ours is None else error_percent(ours, truth)
        minima.append([f"`{line}`", truth, row["failed_bytes"], ours or "-", percent(signed, "+")])
    inside = f"Within the GPU's own last bracket: {summary['minimum']['inside']}."
    headers = ["job", "check", "outcome", "limit, GiB", "predicted", "what happened"]
    none = "None." if books.checks else NOTHING
    again = [["second run", *error_cells(summary["repeats"])]] if summary["repeats"]["jobs"] else []
    twice = "Runs under limits at or above the recorded peak. Where they differ, no estimate is exact for both."
    full = [[f"{row['short_mib']} MiB", row["runs"], row["pressed"]] for row in summary["filled"]]
    beside = "Another process leaves of the GPU the estimated process, or less; nothing limits PyTorch."
    return [
        markdown("The GPU against itself: reserved bytes", ["", *ERRORS], again, note=twice),
        markdown("A GPU that is really full", ["short by", "runs", "pressed"], full, note=beside),
        markdown("Second stage", ["", "checks", "failed", "PEF", "MCP, GiB", "void"], rows if books.checks else []),
        markdown("Second stage: verdicts by capacity", by_capacity, capacity_rows(books.checks)),
        markdown("Second stage: every failed or void check", headers, bad, empty=none),
        markdown("Minimum capacity", ["", *ERRORS], [["all", *error_cells(summary["minimum"])]] if minima else []),
        markdown(
            "Minimum capacity by job", ["job", "completed at", "failed at", "estimate", "error"], minima, note=inside
        ),
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
        "PEF without a GPU run, of the answered jobs: from the reserved peak up it works, below the allocated peak it "
        "fails, between them the minimum capacity decides; undecided ones have none and count as working."
    )
    published = [
        [row["method"], f"{row['mre_percent']} %", f"{row['pef_percent']} %", row["seconds"], row["source"]]
        for row in summary["published"]
    ]
    printed = "Their jobs, GPUs and second stage are their own; not the jobs of the table above."
    return [
        markdown(
            "Rivals on the same jobs", [*headers, f"{OURS} MRE on these", f"{OURS} PEF on these"], rows, note=note
        ),
        markdown("Figures printed in papers", ["method", "MRE", "PEF", "seconds", "source"], published, note=printed),
    ]


def job_tables(books: Books) -> list[str]:
    known = sorted((job for job in books.scored if job.error is not None), key=lambda job: job.error)
    headers = ["job", "family", "error", "estimate", "truth"]

    def cells(job: Scored) -> list[object]:
        return [f"`{job.line}`", job.family, percent(job.error, "+"), *job.pair()]

    under = [[*cells(job), books.causes.get(job.line, "not known yet")] for job in known if job.error < 0]
    far = [
        [*cells(job), job.estimate.get("assumed", "-"), " ".join(job.estimate.get("not_modelled") or ["-"])]
        for job in known
        if abs(job.error) > 1
    ]
    failed = [
        [f"`{line}`", "on the GPU", row.get("error") or "completed, no peaks counted"]
        for line, row in books.failed_on_gpu.items()
    ]
    unanswered = [job for job in books.scored if job.estimate is not None and job.error is None]
    failed += [
        [f"`{job.line}`", "estimate", f"{job.estimate.get('verdict')} {job.estimate.get('error') or ''}".strip()]
        for job in unanswered
    ]
    none = "None." if known else NOTHING
    return [
        markdown("Every under-estimate of reserved bytes", [*headers, "cause"], under, empty=none),
        markdown("Every job off by more than 1 %", [*headers, "assumed values", "not modelled"], far, empty=none),
        markdown("Jobs that failed", ["job", "where", "why"], failed, empty="None." if books.scored else NOTHING),
    ]


def shown_value(bar: dict) -> str:
    value = bar["value"]
    return "not recorded" if value is None else percent(value) if bar["unit"] else str(value)


def verdict(bar: dict) -> str:
    return {True: "met", False: "missed", None: "not recorded"}[bar["met"]]


def seconds_line(summary: dict) -> str:
    found = summary["seconds_per_estimate"]
    if found["median"] is None:
        return "Seconds per estimate: not recorded."
    times = f"median {number(found['median'])}, most {number(found['max'])}"
    return f"Seconds per estimate: {times} ({found['jobs']} jobs, {found['note']})."


def page(books: Books, summary: dict) -> str:
    promised = [[bar["name"], bar["bar"], shown_value(bar), verdict(bar)] for bar in summary["bars"]]
    counts = ", ".join(f"{value} {key.replace('_', ' ')}" for key, value in summary["jobs"].items())
    parts = [
        f"# Accuracy in tables\nWritten by `benchmarks/score.py`, which says how figures are made. Jobs: {counts}.\n"
        f"{seconds_line(summary)} The tables of cost are of several at a time.\n",
        markdown("Promised and measured", ["", "promised", "measured", ""], promised),
        *default_tables(books, summary),
        *group_tables(summary),
        *stage_tables(books, summary),
        *rival_tables(summary),
        *job_tables(books),
        markdown("Keys of summary.json", ["key", "meaning"], [[f"`{key}`", text] for key, text in KEYS.items()]),
    ]
    return "\n".join(parts)
