"""What each limited run of the second stage on the GPU says about the present estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Check:
    """One run; `row` is the recorded one, with the verdict `predicted` for its capacity."""

    line: str
    kind: str  # "rerun" or "verdict"
    row: dict
    outcome: str  # "works", "fails" or "void"
    saved_bytes: int


def rerun_outcome(row: dict, estimate: int | None, gpu_bytes: int) -> tuple[str, int]:
    """Strict: a run that did not complete fails, for whatever reason. A run at another limit than the present estimate
    counts only where the result follows: more than a sufficient limit, or less than an insufficient one."""
    limit = row["limit_bytes"]
    present = limit if estimate is None else estimate
    if row["completed"] and present >= limit:
        return "works", gpu_bytes - limit
    if not row["completed"] and present <= limit:
        return "fails", -limit
    return "void", 0


def verdict_outcome(row: dict, estimate: int | None) -> tuple[str, int]:
    capacity, predicted = row["limit_bytes"], row["predicted"]
    estimate = min(estimate or capacity, capacity)
    expected_failure = predicted == "does_not_fit" and not row["completed"]
    if predicted is None or (expected_failure and not row["out_of_memory"]):
        return "void", 0
    if expected_failure:
        return "works", capacity
    return ("works", capacity - estimate) if predicted == "fits" and row["completed"] else ("fails", -estimate)


def classify_runs(rows: Sequence[dict], estimates: dict[str, int | None], gpu_bytes: int) -> list[Check]:
    """Of a job's reruns the one at the present estimate, or else the last; of its runs at a capacity the one at the
    limit that the prediction is for, or else the last."""
    present_last = sorted(rows, key=lambda row: row["limit_bytes"] == estimates.get(row["job"]))
    reruns = {row["job"]: row for row in present_last if row["why"] == "estimate"}
    capacities = [row for row in rows if row["why"] == "capacity"]
    predicted_last = sorted(capacities, key=lambda row: row["predicted"] is not None)
    verdicts = {(row["job"], row["capacity_gib"]): row for row in predicted_last}
    found = [("rerun", row, rerun_outcome(row, estimates.get(row["job"]), gpu_bytes)) for row in reruns.values()]
    found += [("verdict", row, verdict_outcome(row, estimates.get(row["job"]))) for row in verdicts.values()]
    checks = [
        Check(line=row["job"], kind=kind, row=row, outcome=outcome, saved_bytes=saved)
        for kind, row, (outcome, saved) in found
    ]
    return sorted(checks, key=lambda check: (check.kind, check.line, check.row["limit_bytes"]))
