"""The project's targets for this benchmark, and whether they are met."""

from __future__ import annotations


def default_targets(summary: dict) -> list[tuple]:
    """For the default options and the ranges: name, value, lower bound, upper bound, unit."""
    found, test = summary["default"]["all"], summary["ranges"]["test"]
    exact, covered = found["exact_share"], test["covered_share"]
    unreported = found["too_low_unnamed"] if found["answered"] else None
    return [
        ("default options: exact to the byte", None if exact is None else 100 * exact, 90, None, " %"),
        ("default options: p95", found["p95_percent"], None, 1, " %"),
        ("default options: too low, not reported", unreported, None, 0, ""),
        ("default options: strict PEF", found["pef_upper_percent"], None, 0.5, " %"),
        ("jobs recorded several times", summary["ranges"]["all"]["jobs"], 60, None, ""),
        ("repeats covered by ranges, test jobs", None if covered is None else 100 * covered, 95, None, " %"),
    ]


def targets(summary: dict) -> list[dict]:
    """The value of each target and whether it is met."""
    reserved, low, stage = summary["all"]["reserved"], summary["minimum"], summary["second_stage"]
    recorded = {name: found["recorded"] for name, found in summary["by_family"].items()}
    exact, largest = reserved["exact_share"], low["worst_percent"]
    under = summary["under_estimates"]["without_cause"] if reserved["answered"] else None
    wanted = [  # name, value, lower bound, upper bound, unit
        ("recorded jobs", summary["jobs"]["recorded"], 600, None, ""),
        ("of them the papers' CNN protocol", recorded.get("papers_cnn", 0), 240, None, ""),
        ("of them the papers' Transformers", recorded.get("papers_transformer", 0), 120, None, ""),
        ("reruns limited to the estimate", stage["reruns"]["checks"], 150, None, ""),
        ("verdicts at limited capacity", stage["verdicts"]["checks"], 150, None, ""),
        ("true minimum capacities", low["jobs"], 40, None, ""),
        ("MRE of reserved", reserved["mre_percent"], None, 0.005, " %"),
        ("reserved exact to the byte", None if exact is None else 100 * exact, 85, None, " %"),
        ("p95 of reserved", reserved["p95_percent"], None, 1, " %"),
        ("strict PEF", stage["all"]["pef_percent"], None, 0.5, " %"),
        ("minimum capacity, largest error", None if largest is None else abs(largest), None, 1, " %"),
        ("minimum capacity, lowest error", low["lowest_percent"], -0.5, None, " %"),
        ("under-estimates without a cause", under, None, 0, ""),
        *default_targets(summary),
    ]
    result = []
    for name, value, least, most, unit in wanted:
        target = f"at least {least}{unit}" if most is None else f"at most {most}{unit}"
        met = None if value is None else (value >= least if most is None else value <= most)
        result.append({"name": name, "value": value, "unit": unit.strip(), "target": target, "met": met})
    return result
