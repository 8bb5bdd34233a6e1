"""Scores the estimates against what was recorded on the GPU, and every rival on the same jobs.

Writes `results/summary.json` (headline figures for machines; KEYS explains them), `results/tables.md` and three plots.
What is not there yet is called "not recorded". How the figures are made:

- Error: (estimate - truth) / truth. MRE is the median of its size, p95 the smallest size that 95 % of the jobs do not
  exceed, bias the mean with its sign. A job without an answer has no error; it counts as not exact.
- PEF, strict: share of the second-stage checks that fail. A rerun limited to the estimate fails unless it completes; a
  verdict at a capacity is right or wrong. A run that says nothing is void, counted apart: a job foretold not to fit
  that stopped for another reason, one for which nothing was foretold, or a rerun at a limit from which nothing follows
  for the present estimate.
- Default options: what a user types, against the whole job's peak, and `--until-exit` on the same jobs. Too low by
  more than 2 % and unnamed: nothing is reported as not reached. Their PEF is strict and needs no rerun: an answer below
  the recorded reserved peak fails, by the upper end of its ranges where it has some.
- Ranges: the share of repeated runs between the ends, or equal to the estimate where there is no range.
- MCP: mean over the checks of capacity - estimate where it worked, capacity where running out was foretold, -estimate
  where it failed. The capacity of a rerun is the whole GPU; an estimate above a capacity counts as equal to it.
- Rivals have no GPU run: an estimate of at least the reserved peak works, one below the allocated peak fails; between
  them the recorded minimum capacity decides, else the minimum that VeritasEst estimates, else it counts as working.
- Seconds per estimate: of `results/estimates_alone.jsonl`, a sample estimated one at a time on a quiet machine; without
  it, and in the tables, of estimates that ran several at a time.
- Process: the reserved peak with the CUDA context and what libraries take for themselves, against what NVML reported.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import joblists
import tables
from books import Books, read_books
from rich.console import Console
from rich.table import Table
from scoring import summarise
from truth_files import HERE


def listed() -> dict[str, tuple[str, str, str]]:
    """Family, precision and optimizer of every listed line."""
    return {job.line: (job.family, job.precision, job.optimizer) for job in joblists.read()}


def missed_limits(summary: dict, args: argparse.Namespace) -> list[str]:
    """What the --fail options ask for; a figure that is not there fails too."""
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
    table = Table(
        "", "promised", "measured", "", title="Estimates against the GPU", caption=tables.seconds_line(summary)
    )
    colours = {True: "green", False: "red", None: "yellow"}
    for bar in summary["bars"]:
        table.add_row(bar["name"], bar["bar"], tables.shown_value(bar), f"[{colours[bar['met']]}]{tables.verdict(bar)}")
    return table


def draw(books: Books, folder: Path) -> str:
    try:
        import plots
    except ImportError as error:
        return f"plots not drawn ({error}): pip install matplotlib"
    answers = {name: {line: row["estimate_bytes"] for line, row in rows.items()} for name, rows in books.rivals.items()}
    points = [(job.family, *pair, job.line) for job in books.scored if (pair := job.pair())]
    return f"drawn: {', '.join(path.name for path in plots.draw(folder, points, answers))}"


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fail-above", type=float, metavar="PERCENT", help="exit 1 if the MRE of reserved is above")
    parser.add_argument("--fail-p95", type=float, metavar="PERCENT", help="exit 1 if the p95 of reserved is above")
    parser.add_argument(
        "--fail-exact-below", type=float, metavar="SHARE", help="exit 1 if less is exact; 0.85 is 85 %%"
    )
    parser.add_argument("--folder", type=Path, default=HERE, help="with truth/ and results/; this folder unless told")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    args = options(argv)
    books = read_books(args.folder, listed())
    summary = summarise(books)
    results = args.folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    (results / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    (results / "tables.md").write_text(tables.page(books, summary))
    console = Console()
    console.print(headline(summary))
    console.print(draw(books, results))
    missed = missed_limits(summary, args)
    for line in missed:
        console.print(f"[red]missed[/red] {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
