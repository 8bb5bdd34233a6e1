"""Lists every estimate that changed between two results files, and whether it is nearer to the recorded truth.

    python -m benchmarks.estimate.compare OLD NEW [--changed FILE]

OLD and NEW are output files of `benchmarks.estimate.jobs`, or results/estimates.jsonl for the published estimates;
the kinds in NEW are compared, sizes to the byte. A row is worse if a size is further from the recorded truth, if
there was an answer and now there is none, or if the verdict is another one. What has no recorded truth (ranges,
places that were not reached, a process size that NVML did not report) is listed as changed. Exit code 1 if a row is
worse or missing in NEW.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.json_lines import rows
from benchmarks.truth_files import minima, peaks

SIZES = ("reserved_bytes", "allocated_bytes", "process_bytes", "minimum_bytes")  # each has a recorded truth
OTHERS = ("available_bytes", "range_bytes", "assumed_range_bytes", "timing_range_bytes", "address_range_bytes")
ANSWERS = ("fits", "does_not_fit")
WORSE = ("further", "lost", "other verdict")
Key = tuple[str, str, int | None]  # kind, job, capacity


@dataclass(frozen=True, kw_only=True)
class Change:
    """One field of one row."""

    key: Key
    field: str
    old: object
    new: object
    truth: int | None
    judgement: str  # nearer, further, as far, gained, lost, other verdict or changed

    @property
    def is_worse(self) -> bool:
        return self.judgement in WORSE

    def __str__(self) -> str:
        kind, job, capacity_gib = self.key
        place = f"{kind}{f' at {capacity_gib} GiB' if capacity_gib else ''}"
        truth = "" if self.truth is None else f", truth {self.truth}"
        return f"{self.judgement}: {self.field} {self.old} -> {self.new}{truth} ({place}) {job}"


def by_key(found: Iterable[dict]) -> dict[Key, dict]:
    """The last row of each estimate."""
    return {(row["kind"], row["job"], row.get("capacity_gib")): row for row in found}


def judge_size(old: int | None, new: int | None, truth: int | None) -> str:
    if new is None or old is None:
        return "lost" if new is None else "gained"
    if truth is None:
        return "changed"
    before, now = abs(old - truth), abs(new - truth)
    return "nearer" if now < before else "further" if now > before else "as far"


def judge_verdict(old: str, new: str) -> str:
    if (old in ANSWERS) != (new in ANSWERS):
        return "lost" if old in ANSWERS else "gained"
    return "other verdict"


def places(row: dict) -> list[str] | None:
    """Where code was not reached, without the folder, which differs between machines."""
    found = row.get("not_reached")
    return None if found is None else [f"{Path(entry['file']).name}:{entry['line']}" for entry in found]


def changes_of(key: Key, old: dict, new: dict, truth: dict) -> list[Change]:
    """Field by field; one that the old row does not have is not compared."""
    found = []

    def note(field: str, was: object, now: object, judgement: str) -> None:
        found.append(Change(key=key, field=field, old=was, new=now, truth=truth.get(field), judgement=judgement))

    if old["verdict"] != new["verdict"]:
        note("verdict", old["verdict"], new["verdict"], judge_verdict(old["verdict"], new["verdict"]))
    for field in SIZES:
        was, now = old.get(field), new.get(field)
        if field in old and was != now:
            note(field, was, now, judge_size(was, now, truth.get(field)))
    for field in OTHERS:
        if field in old and old[field] != new.get(field):
            note(field, old[field], new.get(field), "changed")
    if "not_reached" in old and places(old) != places(new):
        note("not_reached", places(old), places(new), "changed")
    return found


def compare(old: dict[Key, dict], new: dict[Key, dict], truth: dict[str, dict]) -> list[Change]:
    """Of all estimates that both have, in the order of OLD."""
    pairs = [(key, row, new[key]) for key, row in old.items() if key in new]
    return [change for key, was, now in pairs for change in changes_of(key, was, now, truth.get(key[1], {}))]


def recorded_truth() -> dict[str, dict]:
    """The recorded sizes of each job, under the names that result rows have."""
    smallest = {line: {"minimum_bytes": row["minimum_bytes"]} for line, row in minima().items()}
    return {line: row | smallest.get(line, {}) for line, row in peaks().items()}


def report(old: dict[Key, dict], new: dict[Key, dict], found: Sequence[Change]) -> int:
    """Prints the comparison; the number of rows that are worse or missing."""
    missing = [key for key in old if key not in new]
    for change in found:
        print(change)
    for kind, job, _ in missing:
        print(f"missing in NEW: ({kind}) {job}")
    changed, worse = {change.key for change in found}, {change.key for change in found if change.is_worse}
    same = sum(key in old and key not in changed for key in new)
    added = sum(key not in old for key in new)
    counts = ", ".join(f"{number} {name}" for name, number in Counter(change.judgement for change in found).items())
    print(f"{same} rows are the same, {len(changed)} changed ({counts or 'none'}), {added} are new")
    print(f"{len(worse)} rows are worse, {len(missing)} are missing")
    return len(worse) + len(missing)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--changed", type=Path, metavar="FILE", help="write the changed jobs there, for `jobs --jobs`")
    args = parser.parse_args(argv)
    new = by_key(rows(args.new))
    kinds = {kind for kind, _, _ in new}
    old = {key: row for key, row in by_key(rows(args.old)).items() if key[0] in kinds}
    if not (old and new):
        print(f"nothing to compare: {len(old)} rows in {args.old}, {len(new)} in {args.new}", file=sys.stderr)
        return 2
    found = compare(old, new, recorded_truth())
    if args.changed is not None:
        args.changed.write_text("".join(f"{job}\n" for job in dict.fromkeys(change.key[1] for change in found)))
    return 1 if report(old, new, found) else 0


if __name__ == "__main__":
    sys.exit(main())
