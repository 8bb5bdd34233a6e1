"""Adds what was recorded into another folder to `truth/`: python -m benchmarks.record.merge FOLDER [--drop-failed]

Rows that are already there are left out: a job's peaks, a numbered run of it, or the same limit again. Headers are
added with the first of their rows. Large files are compressed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.json_lines import add, compress, headers, rows
from benchmarks.truth_files import TRUTH


def identity(row: dict) -> tuple:
    """What a file has once: a run with a limit is identified by it, a repeat by its number."""
    return (row["job"], row.get("run"), row.get("limit_bytes"), row.get("why"), row.get("free_bytes"))


def merge(source: Path, target: Path, *, drop_failed: bool = False) -> int:
    """The number of rows added to the target."""
    known = {identity(row) for row in rows(target)}
    new = [row for row in rows(source) if identity(row) not in known]
    new = [row for row in new if row.get("completed", True) or not drop_failed]
    wanted = {row.get("recording") for row in new}
    present = {header.get("recording") for header in headers(target)}
    for header in headers(source):
        if header.get("recording") in wanted - present:
            add(target, header)
    for row in new:
        add(target, row)
    compress(target)
    return len(new)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--drop-failed", action="store_true", help="leave out runs that failed, to record them again")
    args = parser.parse_args()
    for source in sorted(args.folder.glob("*.jsonl")):
        print(f"{merge(source, TRUTH / source.name, drop_failed=args.drop_failed)} new rows in {source.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
