"""Puts complete evaluations into results/estimates.jsonl.gz, from which the published figures are made.

    python -m benchmarks.estimate.publish FILE [FILE ...]

FILE is an output file of `benchmarks.estimate.jobs`. Its rows replace all published rows of their kind. Refused:
rows that do not come from one clean commit, and a file without a job that is published now.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.estimate.results_file import ResultsFile
from benchmarks.estimate.tasks import tasks_of
from benchmarks.json_lines import read_lines, write_compressed
from benchmarks.provenance import is_clean
from benchmarks.published_estimates import FILE_NAME, KINDS, RESULTS


def why_refused(found: list[dict], published: list[dict], kind: str) -> str | None:
    """The reason why these rows of one kind cannot replace the published ones; None if they can."""
    commits = {row.get("commit") for row in found}
    if unclean := sorted(str(commit) for commit in commits if not is_clean(commit)):
        return f"not from a clean commit: {', '.join(unclean)}"
    if len(commits) > 1:
        return f"from several commits: {', '.join(sorted(commits))}"
    listed = {task.key for task in tasks_of(kind)}  # a job that is no longer listed need not be estimated again
    missing = ({ResultsFile.key(row) for row in published} & listed) - {ResultsFile.key(row) for row in found}
    return f"{len(missing)} published jobs are missing, the first: {min(missing)[0]}" if missing else None


def replace_kind(lines: list[dict], kind: str, new: list[dict]) -> list[dict]:
    """The published lines with those of this kind replaced by the new header and rows."""
    header = [row for row in new if "job" not in row and row["kind"] == kind][-1:]
    found = {ResultsFile.key(row): row for row in new if "job" in row and row["kind"] == kind}
    ordered = sorted(found.values(), key=lambda row: (row["job"], row["capacity_gib"] or 0))
    kept = [row for row in lines if row["kind"] != kind]
    return sorted([*kept, *header, *ordered], key=lambda row: KINDS.index(row["kind"]))


def publish(path: Path, results: Path) -> None:
    """Replaces the kinds that the file has; SystemExit with the reason where that is refused."""
    new, lines = read_lines(path), read_lines(results / FILE_NAME)
    kinds = {row["kind"] for row in new}
    for kind in kinds:
        replaced = replace_kind(lines, kind, new)
        found, published = ([row for row in part if "job" in row and row["kind"] == kind] for part in (replaced, lines))
        if reason := why_refused(found, published, kind):
            raise SystemExit(f"{path} is refused: {reason}")
        lines = replaced
    results.mkdir(parents=True, exist_ok=True)
    write_compressed(results / FILE_NAME, lines)


def main(argv: Sequence[str] | None = None, results: Path = RESULTS) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    for path in parser.parse_args(argv).files:
        publish(path, results)
        print(f"published: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
