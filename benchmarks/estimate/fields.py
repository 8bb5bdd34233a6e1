"""The fields of an estimate's JSON that benchmarks and accuracy tests read (schema 2, docs/json.md).

Nothing else in `benchmarks/` or `tests/accuracy` looks into that document; the rows made here have names of their own.
"""

from __future__ import annotations

Estimate = dict


def verdict(estimate: Estimate) -> str:
    return estimate["verdict"]


def worst_rank(estimate: Estimate) -> dict:
    """Empty if nothing was run."""
    return estimate["ranks"][0] if estimate["ranks"] else {"peak": {}, "needs": {}}


def needs(estimate: Estimate) -> dict:
    return worst_rank(estimate)["needs"]


def peak_reserved_bytes(estimate: Estimate) -> int | None:
    """The reserved peak of what was observed, even if the job did not complete."""
    return worst_rank(estimate)["peak"].get("reserved_bytes")


def peak_allocated_bytes(estimate: Estimate) -> int | None:
    return worst_rank(estimate)["peak"].get("allocated_bytes")


def needed_bytes(estimate: Estimate) -> int | None:
    """Peak reserved of the run without a limit; None if it did not complete."""
    return needs(estimate).get("unconstrained_bytes")


def process_bytes(estimate: Estimate) -> int | None:
    return needs(estimate).get("process_bytes")


def minimum_bytes(estimate: Estimate) -> int | None:
    return needs(estimate).get("minimum_bytes")


def available_bytes(estimate: Estimate) -> int | None:
    """What PyTorch can use on the target GPU."""
    return worst_rank(estimate).get("available_bytes")


def number_of_runs(estimate: Estimate) -> int:
    return len(estimate["runs"])


def assumed_values(estimate: Estimate) -> list[dict]:
    """With `how`, `file` and `line` each."""
    return estimate["assumed"]


def _not_modelled(estimate: Estimate) -> list[str]:
    return sorted({f"{item['library']}:{item['name']}" for item in estimate["not_modelled"]})


def _host_bytes(estimate: Estimate) -> int | None:
    return max((run["host_peak_bytes"] or 0 for run in estimate["runs"]), default=None)


def _failure_message(estimate: Estimate) -> str | None:
    failure = estimate["failure"]
    return str(failure["message"])[-300:] if failure and verdict(estimate) != "does_not_fit" else None


def result_row(estimate: Estimate, seconds: float) -> dict:
    """What a result row keeps of an estimate. These names are the benchmark's own and stay."""
    needed, ranges = needed_bytes(estimate), needs(estimate)
    row = {
        "verdict": verdict(estimate),
        "allocated_bytes": peak_allocated_bytes(estimate) if needed else None,
        "reserved_bytes": needed,
        "process_bytes": process_bytes(estimate),
        "minimum_bytes": minimum_bytes(estimate),
        "available_bytes": available_bytes(estimate),
        "range_bytes": ranges.get("guessed_range_bytes"),
        "assumed_range_bytes": ranges.get("assumed_range_bytes"),
        "assumed": len(assumed_values(estimate)),
        "not_modelled": _not_modelled(estimate),
        "steps": estimate["steps"],
        "observed": estimate["observed"],
        "not_reached": estimate["not_reached"],
        "timing_range_bytes": ranges.get("timing_range_bytes"),
        "address_range_bytes": ranges.get("address_range_bytes"),
        "warnings": len(estimate["warnings"]),
        "runs": number_of_runs(estimate),
        "seconds": seconds,
        "host_bytes": _host_bytes(estimate),
    }
    message = _failure_message(estimate)
    return row | ({"error": message} if message else {})
