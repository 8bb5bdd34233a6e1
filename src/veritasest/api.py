"""`veritasest.estimate`: the one place that knows every stage.

command -> [device] run on the emulated GPU -> trace -> [analysis] -> Estimate
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from warnings import warn

from veritasest import analysis, gpus
from veritasest.engines.emulated.environment import StopRule
from veritasest.errors import Interrupted
from veritasest.job import (
    Job,
    Seen,
    as_far_as,
    discard,
    prepare,
    run,
    run_aside,
    stop_rule,
    target_gpu,
    trace_path_for,
)
from veritasest.launch.launcher import Progress
from veritasest.ranges import spread
from veritasest.spec.estimate import Estimate, FileChanges, GpuFacts, Needs, NotModelled, Part, Provenance, Run
from veritasest.spec.values import checked_values
from veritasest.trace import HeldBack, Process, Trace, Unmodelled
from veritasest.units import format_bytes, parse_bytes, with_article

DEFAULT_GPU = "h200"
PATIENCE_S = 60.0  # a job that takes longer is not run again to see what hangs on assumed values


def estimate(
    command: Sequence[str],
    *,
    gpu: str = DEFAULT_GPU,
    memory: int | str | None = None,
    steps: int | None = None,
    until_exit: bool = False,
    timeout_s: float | None = None,
    budget_s: float | None = None,
    minimum: bool = False,
    values: str = "auto",
    assume: Mapping[str, float | str | bool] | None = None,
    host_memory: int | str | None = None,
    trace: str | os.PathLike[str] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stdout: int | None = None,
    allow_writes: bool = False,
    on_notice: Callable[[str], None] = warn,
) -> Estimate:
    """Runs `command` on an emulated `gpu` and returns what it needs.

    `memory` overrides the GPU's capacity ("16GiB" or bytes). The job's whole life is observed, repeated parts skipped,
    for at most `budget_s` once its peak has settled; or it is ended after `steps` optimizer steps, or, with
    `until_exit`, by itself. `timeout_s` bounds each run. `minimum` also searches the smallest capacity at which the job
    completes (up to 8 more runs).

    `values`: "auto" computes the values that steer the program where that is cheap, and assumes the others; "real"
    computes all of them on the CPU, "real:MODULE" those of one submodule, within `host_memory`; "off" none. `assume`
    says what unknown values are taken for: {"mask": 0.3, "scalar": 1e-3, "finite": False}.

    What the job writes, renames or deletes is held back in a private layer, one for each run, and discarded;
    `allow_writes` lets it happen for real. `on_notice` is called before the job starts if no layer can be made.

    `trace` keeps the record of the run in that file. `stdout` is a file descriptor for the job's standard output.

    Raises UsageError, UnsupportedEnvironment or Interrupted. A job that fails is an Estimate with that verdict.
    """
    stop = stop_rule(steps, until_exit, timeout_s, budget_s)
    target = target_gpu(gpu, memory)
    host_bytes = parse_bytes(host_memory) if isinstance(host_memory, str) else host_memory
    chosen = checked_values(values, assume or {}, host_bytes)
    job = prepare(command, target, stop, chosen, timeout_s, cwd, env, stdout, on_progress, allow_writes)
    if job.files.notice:
        on_notice(job.files.notice)
    path, keep = trace_path_for(trace)
    try:
        result = _estimate(job, path, minimum=minimum, keep_all=keep)
    except Interrupted:
        raise
    except BaseException:
        discard(path)
        raise
    if keep or result.verdict in ("job_failed", "unsupported", "undetermined"):
        return replace(result, trace_path=str(path))
    discard(path)
    return result


def _estimate(job: Job, path: Path, *, minimum: bool, keep_all: bool) -> Estimate:
    """The run at capacity decides; a second one without limit tells the need where the first was pressed."""
    first = run(job, path, job.gpu.available_bytes)
    runs = [first.run]
    if first.judgement.verdict == "job_failed" and analysis.same_course(first.trace)[0] is not None:
        first = _as_it_is(job, path, first, runs)
    warnings = [*job.warnings, *first.judgement.warnings]
    free: Seen | None = first
    if first.judgement.verdict == "does_not_fit" or (first.judgement.verdict == "fits" and first.judgement.pressed):
        free = run_aside(job, path, "run2", None, keep=keep_all)
        runs.append(free.run)
        if free.judgement.verdict != "fits":
            why = free.judgement.failure or free.judgement.undetermined
            reason = why.message if why else "no reason recorded"
            warnings.append(f"the run without limit did not complete, so the need is not known: {reason}")
            free = None
    elif first.judgement.verdict != "fits":
        free = None
    smallest = None
    if minimum and free is not None:
        smallest = _minimum(job, path, free, runs)
    needs = Needs(comfortable_bytes=free.peak.reserved_bytes if free else None, minimum_bytes=smallest)
    if free is not None and (bounds := _bounds(free)):
        needs = _with_ranges(needs, free, [_bound(job, path, free, runs, guesses=guesses) for guesses in bounds])
    if free is not None and analysis.sizes_are_assumed(free.trace):
        needs = _with_choices(job, path, free, needs, runs, warnings)
    if free is not None:
        repeats = spread(job, path, first, free, needs)
        needs, first = repeats.needs, repeats.decides
        runs.extend(repeats.runs)
        warnings.extend(repeats.warnings)
    shown = free if free is not None and first.judgement.verdict == "does_not_fit" else first
    return _assemble(job, first, shown, free, needs, runs, warnings)


def _as_it_is(job: Job, path: Path, failed: Seen, runs: list[Run]) -> Seen:
    """A job that failed after parts of it were skipped may have failed because of that: once more, skipping nothing, as
    far as the first run went before."""
    forward_from, _ = analysis.same_course(failed.trace)
    seen = run_aside(
        replace(job, stop=StopRule(steps=forward_from)), path, "as-it-is", job.gpu.available_bytes, keep=False
    )
    runs.append(seen.run)
    if seen.judgement.verdict != "fits":
        return seen
    reason = failed.judgement.failure.message if failed.judgement.failure else "no reason recorded"
    note = f"skipping repeated parts made the script fail ({reason}); what comes after step {seen.steps} was not seen"
    return replace(seen, judgement=replace(seen.judgement, warnings=(*seen.judgement.warnings, note)))


def _bounds(free: Seen) -> tuple[str, ...]:
    """The bounds worth a run: guesses that are their own lower bound have only the upper one."""
    how = {event.how for event in free.trace.of(Unmodelled)}
    return ("low", "high") if "bounded" in how else ("high",) if "bounded above" in how else ()


def _bound(
    job: Job, path: Path, free: Seen, runs: list[Run], *, guesses: str | None = None, choices: str | None = None
) -> Seen:
    """The job once more without limit, as far as the free run, what is guessed or assumed at one of its bounds."""
    again = replace(job, stop=as_far_as(free, job))
    seen = run_aside(again, path, guesses or choices or "", None, keep=False, guesses=guesses, choices=choices)
    runs.append(seen.run)
    return seen


def _with_choices(job: Job, path: Path, free: Seen, needs: Needs, runs: list[Run], warnings: list[str]) -> Needs:
    """What the need becomes when every assumed choice takes nothing, or everything. A job need not survive that."""
    if free.run.elapsed_s > PATIENCE_S:
        warnings.append(
            f"sizes hang on assumed values; by how much was not tried, since a run takes over {PATIENCE_S:.0f} s"
        )
        return needs
    bounded = replace(job, timeout_s=min(job.timeout_s or PATIENCE_S, PATIENCE_S))  # a loop may never end that way
    seen = [_bound(bounded, path, free, runs, choices=choices) for choices in ("none", "all")]
    completed = [one for one in seen if one.judgement.verdict == "fits" and one.steps >= free.steps]
    if not completed:
        warnings.append("sizes hang on assumed values; by how much is not known, the job survives neither extreme")
        return needs
    reserved = [one.peak.reserved_bytes for one in (free, *completed)]
    return replace(needs, assumed_range_bytes=(min(reserved), max(reserved)))


def _with_ranges(needs: Needs, free: Seen, bounds: Sequence[Seen]) -> Needs:
    """Reserved memory may go either way with a workspace, hence the least and most of all runs. The minimum follows the
    allocated peak, so its range is moved by as much as that peak."""
    reserved = [seen.peak.reserved_bytes for seen in (free, *bounds)]
    allocated = [seen.peak.allocated_bytes or 0 for seen in (free, *bounds)]
    moves = [size - allocated[0] for size in allocated]
    least = needs.minimum_bytes
    return replace(
        needs,
        comfortable_range_bytes=(min(reserved), max(reserved)),
        minimum_range_bytes=None if least is None else (least + min(moves), least + max(moves)),
    )


def _minimum(job: Job, path: Path, free: Seen, runs: list[Run]) -> int:
    """Every trial must get as far as the free run did: a job that dies later at a smaller capacity did not complete."""
    trial_job = replace(job, stop=as_far_as(free, job))

    def completes(limit_bytes: int) -> bool:
        seen = run_aside(trial_job, path, "minimum", limit_bytes, keep=False)
        runs.append(seen.run)
        return seen.judgement.verdict == "fits" and seen.steps >= free.steps

    return analysis.smallest_that_completes(
        fails_bytes=free.peak.allocated_bytes or 0, completes_bytes=free.peak.reserved_bytes, completes=completes
    )


def _assemble(
    job: Job,
    first: Seen,
    shown: Seen,
    free: Seen | None,
    needs: Needs,
    runs: Sequence[Run],
    warnings: Sequence[str],
) -> Estimate:
    judgement = first.judgement
    gpu = _gpu_facts(job.gpu, analysis.device_uses(shown.trace).get(shown.peak.device, analysis.DeviceUse()))
    if needs.comfortable_bytes is not None:
        overhead = gpu.processes * gpu.context_bytes + gpu.libraries_bytes
        needs = replace(needs, process_bytes=needs.comfortable_bytes + overhead)
    parts: tuple[Part, ...] = analysis.composition(shown.trace)
    return Estimate(
        verdict=judgement.verdict,
        gpu=gpu,
        peak=shown.peak,
        needs=needs,
        steps=shown.steps,
        settled=shown.judgement.settled,
        elapsed_s=round(sum(run.elapsed_s for run in runs), 3),
        observed=analysis.observed(shown.trace),
        not_reached=analysis.not_reached(shown.trace),
        failure=judgement.failure,
        undetermined=judgement.undetermined,
        not_modelled=_not_modelled(first.trace, shown.trace),
        assumed=analysis.assumed_values(first.trace, *(() if shown is first else (shown.trace,))),
        warnings=tuple(dict.fromkeys([*warnings, *_close_call(job, gpu, free), *_within_totals(job, gpu, free)])),
        composition=parts,
        provenance=_provenance(shown.trace),
        runs=tuple(runs),
        trace_path=None,
        files=_file_changes(first.trace),
    )


def _gpu_facts(gpu: gpus.GPU, use: analysis.DeviceUse) -> GpuFacts:
    """Of one process: its context, and the most its libraries held. Of several: what was there when the device was
    fullest, so that the allocations at their peak, and all that was there besides, add up to what the device held."""
    if use.most_processes > 1:
        processes = use.processes
        libraries = max(use.total_bytes - use.reserved_bytes - processes * gpu.context_bytes, 0)
    else:
        processes, libraries = 1, use.libraries_bytes
    return GpuFacts(
        id=gpu.id,
        name=gpu.name,
        capacity_bytes=gpu.total_bytes,
        context_bytes=gpu.context_bytes,
        libraries_bytes=libraries,
        available_bytes=max(gpu.total_bytes - processes * gpu.context_bytes - libraries, 0),
        processes=processes,
    )


def _close_call(job: Job, gpu: GpuFacts, free: Seen | None) -> tuple[str, ...]:
    """What was not measured matters only where the verdict hangs on it."""
    if free is None or job.gpu.evidence.get("context_bytes") == "measured":
        return ()
    if abs(gpu.available_bytes - free.peak.reserved_bytes) > gpu.context_bytes + gpu.libraries_bytes:
        return ()
    where = with_article(gpu.name)
    return (f"a close call: what the CUDA context and libraries take on {where} is assumed, not measured",)


def _within_totals(job: Job, gpu: GpuFacts, free: Seen | None) -> tuple[str, ...]:
    """Drivers differ in how much of a GPU they leave: a need between the extremes fits with some of them only."""
    totals = job.gpu.total_bytes_range
    if free is None or totals is None:
        return ()
    needed_bytes = free.peak.reserved_bytes + gpu.context_bytes + gpu.libraries_bytes
    if not totals[0] < needed_bytes <= totals[1]:
        return ()
    low, high = (format_bytes(total) for total in totals)
    return (
        f"close to the limit: reported totals of the {gpu.name} range from {low} to {high} depending on the driver",
    )


def _not_modelled(*traces: Trace) -> tuple[NotModelled, ...]:
    """Each name once, with the first place that led to it."""
    events = {(e.library, e.name, e.how): e for trace in reversed(traces) for e in reversed(trace.of(Unmodelled))}
    return tuple(
        NotModelled(library=e.library, name=e.name, how=e.how, file=e.file, line=e.line)
        for e in sorted(events.values(), key=lambda event: event.t)
    )


def _file_changes(trace: Trace) -> FileChanges | None:
    held = trace.of(HeldBack)
    if not held:
        return None
    last = held[-1]
    return FileChanges(
        mode=last.mode,
        written=last.written,
        deleted=last.deleted,
        bytes=last.bytes,
        folder=last.folder,
        examples=last.examples,
    )


def _provenance(trace: Trace) -> Provenance:
    processes = trace.of(Process)
    process = processes[0] if processes else None
    return Provenance(
        command=trace.header.command,
        torch=process.torch if process else None,
        cuda=process.cuda if process else None,
        cudnn=process.cudnn if process else None,
        python=process.python if process else None,
        veritasest=trace.header.veritasest,
        allocator_conf=trace.header.allocator_conf,
        host=trace.header.host,
        created=trace.header.created,
    )
