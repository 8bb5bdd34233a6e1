"""Scores the published estimates against the truth recorded on the GPU, and other tools on the same jobs.

    python -m benchmarks.score.publish         or `make score`, which updates the project's README too

Writes `results/summary.json` (figures for programs; KEYS in summary.py explains them), `results/tables.md` and
three plots. Refused if estimates do not come from a clean commit; `--draft` writes them all the same, and tables.md
says so. What is missing is shown as "not recorded". Definitions:

- Error: (estimate - truth) / truth. MRE is the median of its absolute value, p95 the smallest absolute value that
  95 % of the jobs do not exceed, bias the mean with its sign. A job without an estimate has no error; it counts as
  not exact.
- PEF, strict: share of the second-stage checks that fail. A rerun limited to the estimate fails unless it
  completes; a verdict at a capacity is correct or wrong. A run that does not decide is void and counted separately:
  a job predicted not to fit that stopped for another reason, a job without a prediction, or a rerun at a limit from
  which nothing follows for the present estimate.
- Default options: against the peak of the whole job, with `--until-exit` on the same jobs for comparison. Their PEF
  is strict and needs no rerun: an answer below the recorded reserved peak fails, for estimates with ranges by their
  upper end.
- Ranges: the share of repeated runs inside the range, or equal to the estimate where there is no range.
- MCP: mean over the checks of capacity - estimate where it worked, capacity where running out of memory was
  predicted, -estimate where it failed. The capacity of a rerun is the whole GPU; an estimate above a capacity
  counts as equal to it.
- Other tools have no run on the GPU: an estimate of at least the reserved peak works, one below the allocated peak
  fails; in between the recorded minimum capacity decides, or else the minimum that VeritasEst estimates, or else it
  counts as working.
- Seconds per estimate: of a sample estimated one at a time on an idle machine; without it, and in the tables, of
  estimates that ran several at a time.
- Process: the reserved peak with CUDA context and library overhead, against what NVML reported.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import job_lists
from benchmarks.provenance import is_clean
from benchmarks.published_estimates import KINDS, read_estimates, read_provenance
from benchmarks.score import accuracy_page
from benchmarks.score.benchmark_data import BenchmarkData, read_data
from benchmarks.score.summary import summarise
from benchmarks.truth_files import HERE


def listed() -> dict[str, tuple[str, str, str]]:
    """Family, precision and optimizer of every listed line."""
    return {job.line: (job.family, job.precision, job.optimizer) for job in job_lists.read()}


def unclean_kinds(results: Path) -> dict[str, str]:
    """The kinds of estimates with rows that come from no clean commit, each with that commit."""
    found = {}
    for kind in KINDS:
        header = read_provenance(kind, results) or {}
        commits = {row.get("commit", header.get("commit")) for row in read_estimates(kind, results)}
        if unclean := sorted(str(commit) for commit in commits if not is_clean(commit)):
            found[kind] = ", ".join(unclean)
    return found


def missed_limits(summary: dict, args: argparse.Namespace) -> list[str]:
    """The --fail options that are not met; a figure that is missing does not meet them."""
    reserved = summary["all"]["reserved"]
    asked = [
        ("MRE", reserved["mre_percent"], args.fail_above, 1),
        ("p95", reserved["p95_percent"], args.fail_p95, 1),
        ("exact share", reserved["exact_share"], args.fail_exact_below, -1),
    ]
    return [
        f"{name} is {'not recorded' if value is None else value}, the limit is {limit}"
        for name, value, limit, sign in asked
        if limit is not None and (value is None or sign * value > sign * limit)
    ]


def headline(summary: dict) -> Table:
    caption = accuracy_page.seconds_line(summary)
    table = Table("", "target", "measured", "", title="Estimates against the GPU", caption=caption)
    colours = {True: "green", False: "red", None: "yellow"}
    for target in summary["targets"]:
        shown = f"[{colours[target['met']]}]{accuracy_page.status(target)}"
        table.add_row(target["name"], target["target"], accuracy_page.shown_value(target), shown)
    return table


def draw(data: BenchmarkData, folder: Path) -> str:
    try:
        from benchmarks.score import plots
    except ImportError as error:
        return f"plots not drawn ({error}): pip install matplotlib"
    answers = {name: {line: row["estimate_bytes"] for line, row in rows.items()} for name, rows in data.rivals.items()}
    points = [(job.family, *pair, job.line) for job in data.scored if (pair := job.pair())]
    return f"drawn: {', '.join(path.name for path in plots.draw(folder, points, answers))}"


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draft", action="store_true", help="also from estimates without a clean commit")
    parser.add_argument("--fail-above", type=float, metavar="PERCENT", help="exit 1 if the MRE of reserved is above")
    parser.add_argument("--fail-p95", type=float, metavar="PERCENT", help="exit 1 if the p95 of reserved is above")
    parser.add_argument(
        "--fail-exact-below", type=float, metavar="SHARE", help="exit 1 if less is exact; 0.85 is 85 %%"
    )
    parser.add_argument("--folder", type=Path, default=HERE, help="with truth/ and results/; benchmarks/ by default")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    args = options(argv)
    results = args.folder / "results"
    console = Console()
    if (unclean := unclean_kinds(results)) and not args.draft:
        for kind, commits in unclean.items():
            console.print(f"[red]refused[/red]: estimates of kind {kind} come from {commits}, not a clean commit")
        console.print("Estimate them again from a clean commit (benchmarks.estimate.jobs), or use --draft.")
        return 2
    data = read_data(args.folder, listed())
    summary = summarise(data)
    results.mkdir(parents=True, exist_ok=True)
    (results / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    (results / "tables.md").write_text(accuracy_page.page(data, summary))
    console.print(headline(summary))
    console.print(draw(data, results))
    missed = missed_limits(summary, args)
    for line in missed:
        console.print(f"[red]missed[/red] {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
