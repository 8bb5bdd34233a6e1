"""Figures of the default options against the whole job, and of the ranges against repeated runs: pure functions.

By default an estimate does not run the job to its end; on the GPU it does. What was not observed has to be
reported: an estimate that is too low by more than `TOLERATED_PERCENT`, reports nothing as not reached and has no
range that includes the truth is a wrong answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from benchmarks.score.benchmark_data import BenchmarkData, RepeatedJob, ScoredJob, error_percent
from benchmarks.score.error_figures import errors, figure, nearest_rank
from benchmarks.score.second_stage_checks import Check

TOLERATED_PERCENT = 2.0
ANSWERS = ("fits", "does_not_fit")
RANGES = ("timing_range_bytes", "address_range_bytes")  # how far the same job varies on one GPU


def bounds(estimate: dict) -> tuple[int, int] | None:
    """The point estimate moved by all of its ranges, as the report adds them up; None without an answer."""
    point = estimate.get("reserved_bytes")
    if point is None or estimate["verdict"] not in ANSWERS:
        return None
    known = [estimate[name] for name in RANGES if estimate.get(name)]
    return point + sum(min(low - point, 0) for low, _ in known), point + sum(max(high - point, 0) for _, high in known)


@dataclass(frozen=True, kw_only=True)
class WholeJob:
    """A recorded job with its estimate by the default options, and that with `--until-exit` if there is one."""

    job: ScoredJob
    until_exit: dict | None

    @property
    def pair(self) -> tuple[int | None, int]:
        """Estimate and truth; `undetermined` and failures are not answers, whatever was observed until then."""
        found = self.job.estimate if bounds(self.job.estimate) else {}
        return found.get("reserved_bytes"), self.job.truth["reserved_bytes"]

    @property
    def error(self) -> float | None:
        estimate, truth = self.pair
        return None if estimate is None else error_percent(estimate, truth)

    @property
    def is_named(self) -> bool:
        return bool(self.job.estimate.get("not_reached"))

    @property
    def is_reported(self) -> bool:
        """Whether the estimate names what was not reached, or has a range that includes the truth."""
        upper = self.upper_bytes
        return self.is_named or (upper is not None and error_percent(upper, self.pair[1]) >= -TOLERATED_PERCENT)

    @property
    def is_too_low(self) -> bool:
        return self.error is not None and self.error < -TOLERATED_PERCENT

    @property
    def upper_bytes(self) -> int | None:
        found = bounds(self.job.estimate)
        return found[1] if found else None


def share_below(sizes: Iterable[int | None], truths: Iterable[int]) -> float | None:
    """In percent: the share of answers with which PyTorch would at least have to free its cache."""
    found = [100 * (size < truth) for size, truth in zip(sizes, truths, strict=True) if size is not None]
    return figure(fmean, found)


def ratio(job: WholeJob) -> float | None:
    """Seconds of the default options per second of `--until-exit`."""
    ours, theirs = job.job.estimate.get("seconds"), (job.until_exit or {}).get("seconds")
    return ours / theirs if ours and theirs else None


def whole_job_figures(jobs: Sequence[WholeJob]) -> dict:
    pairs, low = [job.pair for job in jobs], [job for job in jobs if job.is_too_low]
    truths = [truth for _, truth in pairs]
    same = [(job.until_exit.get("reserved_bytes"), job.pair[1]) for job in jobs if job.until_exit is not None]
    seconds = [job.job.estimate["seconds"] for job in jobs if job.job.estimate.get("seconds")]
    return errors(pairs) | {
        "undetermined": sum(job.job.estimate.get("verdict") == "undetermined" for job in jobs),
        "too_low": len(low),
        "too_low_unnamed": sum(not job.is_reported for job in low),
        "not_reached_named": sum(job.is_named for job in jobs),
        "pef_percent": share_below([size for size, _ in pairs], truths),
        "pef_upper_percent": share_below([job.upper_bytes for job in jobs], truths),
        "seconds_median": figure(median, seconds),
        "seconds_ratio": figure(median, [found for job in jobs if (found := ratio(job)) is not None]),
        "until_exit": errors(same)
        | {"pef_percent": share_below([size for size, _ in same], [truth for _, truth in same])},
    }


def whole_jobs(data: BenchmarkData) -> list[WholeJob]:
    until_exit = {job.line: job.estimate for job in data.scored}
    return [WholeJob(job=job, until_exit=until_exit.get(job.line)) for job in data.default]


def default_options(data: BenchmarkData) -> dict:
    """Of all jobs estimated with the default options, of each list, and of scripts not used in development."""
    jobs = whole_jobs(data)
    families = sorted({job.job.family for job in jobs})
    unseen = [job for job in jobs if job.job.line.split()[0] in data.unseen_scripts]
    return {
        "all": whole_job_figures(jobs),
        "unseen": whole_job_figures(unseen),
        "by_family": {name: whole_job_figures([job for job in jobs if job.job.family == name]) for name in families},
        "reruns": rerun_figures(data.default_checks),
    }


def rerun_figures(checks: Sequence[Check]) -> dict:
    """What the reruns of the second stage say about the default options' estimates."""
    counted = [check.outcome == "fails" for check in checks if check.kind == "rerun" and check.outcome != "void"]
    return {
        "checks": len(counted),
        "failed": sum(counted),
        "pef_percent": figure(fmean, [100 * fails for fails in counted]),
    }


def range_figures(jobs: Sequence[RepeatedJob]) -> dict:
    """Coverage of the runs, and widths in percent of the point estimate; jobs without an estimate are left out."""
    known = [(job, found) for job in jobs if (found := bounds(job.estimate or {})) is not None]
    runs = [low <= size <= high for job, (low, high) in known for size in job.reserved_bytes]
    widths = [100 * (high - low) / job.estimate["reserved_bytes"] for job, (low, high) in known]
    spreads = [100 * (max(job.reserved_bytes) - min(job.reserved_bytes)) / min(job.reserved_bytes) for job, _ in known]
    ranged = [low < high for _, (low, high) in known]
    return {
        "jobs": len(known),
        "runs": len(runs),
        "covered_share": figure(fmean, runs),
        "moved": sum(spread > 0 for spread in spreads),
        "with_range": sum(ranged),
        "range_but_still": sum(has and spread == 0 for has, spread in zip(ranged, spreads, strict=True)),
        "moved_without_range": sum(not has and spread > 0 for has, spread in zip(ranged, spreads, strict=True)),
        **{
            f"{name}_{key}_percent": figure(lambda values, share=share: nearest_rank(values, share), found)
            for name, found in (("width", widths), ("spread", spreads))
            for key, share in (("median", 0.5), ("p95", 0.95))
        },
    }


def ranges(data: BenchmarkData) -> dict:
    parts = {part: [job for job in data.repeated if job.part == part] for part in ("fit", "test")}
    return {"all": range_figures(data.repeated), **{part: range_figures(jobs) for part, jobs in parts.items()}}
