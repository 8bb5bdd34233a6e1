"""From a recording to an estimate: a pure function of the files in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from veritasest.analysis.assumed import assumed_values
from veritasest.analysis.breakdown import breakdown
from veritasest.analysis.completed import CompletedRun, capacity_run, complete, decisive_run, unlimited_run
from veritasest.analysis.life import not_reached, observed
from veritasest.analysis.limits import limit_warnings
from veritasest.analysis.needs import needs, unknown_ranges, unlimited_failure
from veritasest.analysis.peaks import devices_by_use, peak
from veritasest.analysis.processes import DeviceUse, device_uses
from veritasest.analysis.provenance import provenance
from veritasest.analysis.verdict import WAS_INTERRUPTED
from veritasest.errors import TraceError
from veritasest.spec.enums import Purpose, Verdict
from veritasest.spec.estimate import Estimate, FileChanges, GpuFacts, Needs, NotModelled, RankEstimate
from veritasest.spec.gpu import GPU
from veritasest.trace import DeferredFree, HeldBack, Process, Trace, Unmodelled
from veritasest.trace.recording import Recording

# Without these there is no verdict; another run that was interrupted is as if it had not begun.
_DECISIVE = (Purpose.CAPACITY, Purpose.WITHOUT_SKIPPING)


def estimate(recording: Recording) -> Estimate:
    """Raises TraceError if the recording holds no run."""
    runs = [complete(run) for run in recording.runs if run.trace_path.exists()]
    if not runs:
        raise TraceError(f"the recording {recording.folder} holds no run", "record the job again")
    ended = [run for run in runs if not run.was_interrupted or run.purpose in _DECISIVE]
    if ended == runs:
        return _assemble(recording, runs)
    found = _assemble(recording, ended)
    if found.verdict is Verdict.FITS and _timing_is_open(runs):
        found = replace(found, verdict=Verdict.UNDETERMINED, undetermined=WAS_INTERRUPTED)
    return replace(found, warnings=(*found.warnings, "the estimate was interrupted: some of its figures are missing"))


def _timing_is_open(runs: Sequence[CompletedRun]) -> bool:
    """Whether a run that could have made "fits" a "does not fit" is missing."""
    known = {run.purpose for run in runs if not run.was_interrupted}
    begun = {run.purpose for run in runs}
    if not capacity_run(runs).trace.of(DeferredFree):
        return False
    return Purpose.LATE_EVENTS not in known or Purpose.LATE_EVENTS_AT_CAPACITY in begun - known


def _assemble(recording: Recording, runs: Sequence[CompletedRun]) -> Estimate:
    gpu, first, unlimited, decides = (
        recording.manifest.gpu,
        capacity_run(runs),
        unlimited_run(runs),
        decisive_run(runs),
    )
    # Where the job does not fit, the run without a limit shows more of it.
    shown = unlimited if unlimited is not None and decides.verdict is Verdict.DOES_NOT_FIT else decides
    trace = shown.trace
    ranks = _ranks(gpu, trace, needs(runs, unlimited, minimum=recording.manifest.minimum))
    warnings = [
        *recording.manifest.warnings,
        *first.result.warnings,
        *unlimited_failure(runs),
        *unknown_ranges(runs, unlimited),
        *limit_warnings(gpu, ranks[0], decides.verdict),
    ]
    seen = (decides.trace, trace) if shown is not decides else (trace,)
    return Estimate(
        verdict=decides.verdict,
        gpu=GpuFacts.of(gpu),
        ranks=ranks,
        steps=shown.steps,
        settled=shown.result.settled,
        elapsed_s=round(sum(run.summary.elapsed_s for run in runs), 3),
        observed=observed(trace),
        not_reached=not_reached(trace),
        failure=decides.result.failure,
        undetermined=decides.result.undetermined,
        not_modelled=_not_modelled(seen),
        assumed=assumed_values(*seen),
        warnings=tuple(dict.fromkeys(warnings)),
        files=_file_changes(first.trace),
        provenance=provenance(recording.manifest, runs[0].spec, trace, first.trace),
        runs=tuple(run.summary for run in runs),
    )


def _ranks(gpu: GPU, trace: Trace, worst_needs: Needs) -> tuple[RankEstimate, ...]:
    """The requirement was studied for the fullest device; of the others the same run shows the peak."""
    uses = device_uses(trace)
    found = []
    for place, device in enumerate(devices_by_use(trace) or (0,)):
        use = uses.get(device, DeviceUse())
        processes, overhead = _overhead(gpu, use)
        highest = peak(trace, device)
        known = worst_needs if place == 0 else Needs(unconstrained_bytes=highest.reserved_bytes)
        outside = processes * gpu.context_bytes + overhead
        if known.unconstrained_bytes is not None:
            known = replace(known, process_bytes=known.unconstrained_bytes + outside)
        found.append(
            RankEstimate(
                rank=_rank(trace, use),
                device=device,
                processes=processes,
                available_bytes=max(gpu.total_bytes - outside, 0),
                library_overhead_bytes=overhead,
                peak=highest,
                needs=known,
                breakdown=breakdown(trace, device),
            )
        )
    return tuple(found)


def _overhead(gpu: GPU, use: DeviceUse) -> tuple[int, int]:
    """Processes, and the most their libraries held. Of several processes: what was there when the device was fullest,
    so that allocations at their peak, contexts and libraries add up to what the device held."""
    if use.most_processes <= 1:
        return 1, use.libraries_bytes
    return use.processes, max(use.total_bytes - use.reserved_bytes - use.processes * gpu.context_bytes, 0)


def _rank(trace: Trace, use: DeviceUse) -> int | None:
    ranks = [process.rank for process in trace.of(Process) if process.pid in use.held and process.rank is not None]
    return min(ranks, default=None)


def _not_modelled(traces: Iterable[Trace]) -> tuple[NotModelled, ...]:
    """Each name once, with the first place that led to it."""
    known = [event for trace in reversed(list(traces)) for event in reversed(trace.of(Unmodelled))]
    events = {(event.library, event.name, event.how): event for event in known}
    return tuple(
        NotModelled(library=event.library, name=event.name, how=event.how, file=event.file, line=event.line)
        for event in sorted(events.values(), key=lambda event: event.t)
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
