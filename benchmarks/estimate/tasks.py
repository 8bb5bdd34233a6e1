"""Which estimates each kind of evaluation consists of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks import job_lists
from benchmarks.json_lines import rows
from benchmarks.truth_files import SECOND_STAGE

KIND_HELP = """\
  peaks      every job to its own end (--until-exit): peaks of the whole job
  default    the same jobs with the default options
  minimum    the minimum capacity (--minimum) of the jobs chosen in second_stage.jsonl
  capacity   the verdict at the capacities chosen there (--memory)
  real       jobs whose memory depends on computed values, with --values real
  alone      a sample of 40 jobs, one at a time, for the seconds an estimate takes
"""
SAMPLE_ALONE = 40
VALUE_DEPENDENT = ("steered", "steered_unseen")  # job lists


@dataclass(frozen=True)
class Task:
    """One estimate of a job."""

    job: job_lists.Job
    options: tuple[str, ...] = ()
    capacity_gib: int | None = None
    until_exit: bool = True

    @property
    def key(self) -> tuple[str, int | None]:
        """What a results file has once per kind."""
        return (self.job.line, self.capacity_gib)


def tasks_of(kind: str, families: Iterable[str] | None = None) -> list[Task]:
    """All estimates of this kind, for the jobs of these lists or of all."""
    jobs = {job.line: job for job in job_lists.read(families)}
    if kind == "peaks":
        return [Task(job) for job in jobs.values()]
    if kind == "default":
        return [Task(job, until_exit=False) for job in jobs.values()]
    if kind == "real":
        return [Task(job, ("--values", "real")) for job in jobs.values() if job.family in VALUE_DEPENDENT]
    if kind == "alone":
        return [Task(job) for job in job_lists.in_hash_order(jobs.values())[:SAMPLE_ALONE]]
    chosen = [row for row in rows(SECOND_STAGE) if row["why"] == kind and row["job"] in jobs]
    if kind == "minimum":
        return [Task(jobs[row["job"]], ("--minimum",)) for row in chosen]
    sizes = [(row["job"], row["capacity_gib"]) for row in chosen]
    return [Task(jobs[line], ("--memory", f"{gib}GiB"), gib) for line, gib in sizes]
