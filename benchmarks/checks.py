"""The second stage, judged: what each limited run on the GPU says about the present estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Check:
    """One run; `row` is the recorder's, with the verdict `predicted` for its capacity."""

    line: str
    kind: str  # "rerun" or "verdict"
    row: dict
    outcome: str  # "works", "fails" or "void"
    saved_bytes: int


def judge_rerun(row: dict, estimate: int | None, gpu_bytes: int) -> tuple[str, int]:
    """Strict: whatever kept it from completing. A limit that is no longer the estimate tells what it still can."""
    limit = row["limit_bytes"]
    present = limit if estimate is None else estimate
    if row["completed"] and present >= limit:
        return "works", gpu_bytes - limit
    if not row["completed"] and present <= limit:
        return "fails", -limit
    return "void", 0


def judge_verdict(row: dict, estimate: int | None) -> tuple[str, int]:
    capacity, predicted = row["limit_bytes"], row["predicted"]
    estimate = min(estimate or capacity, capacity)
    foretold = predicted == "does_not_fit" and not row["completed"]
    if predicted is None or (foretold and not row["out_of_memory"]):
        return "void", 0
    if foretold:
        return "works", capacity
    return ("works", capacity - estimate) if predicted == "fits" and row["completed"] else ("fails", -estimate)


def judge(rows: Sequence[dict], estimates: dict[str, int | None], gpu_bytes: int) -> list[Check]:
    """Of a job's reruns the one at the present estimate, else the last; of its runs at a capacity the one at the limit
    that the prediction is for, else the last."""
    present_last = sorted(rows, key=lambda row: row["limit_bytes"] == estimates.get(row["job"]))
    reruns = {row["job"]: row for row in present_last if row["why"] == "estimate"}
    capacities = [row for row in rows if row["why"] == "capacity"]
    predicted_last = sorted(capacities, key=lambda row: row["predicted"] is not None)
    verdicts = {(row["job"], row["capacity_gib"]): row for row in predicted_last}
    judged = [("rerun", row, judge_rerun(row, estimates.get(row["job"]), gpu_bytes)) for row in reruns.values()]
    judged += [("verdict", row, judge_verdict(row, estimates.get(row["job"]))) for row in verdicts.values()]
    checks = [
        Check(line=row["job"], kind=kind, row=row, outcome=outcome, saved_bytes=saved)
        for kind, row, (outcome, saved) in judged
    ]
    return sorted(checks, key=lambda check: (check.kind, check.line, check.row["limit_bytes"]))
