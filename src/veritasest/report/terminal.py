"""The report for people: the answer first, then what is uncertain, then what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TextIO

from rich.console import Console
from rich.text import Text

from veritasest.report.notes import notes
from veritasest.report.registry import Reporter
from veritasest.spec.enums import FileMode, Verdict
from veritasest.spec.estimate import Estimate, Failure, GpuFacts, Needs, Range, RankEstimate
from veritasest.trace.recording import Recording
from veritasest.units import format_bytes

_STYLES = {Verdict.FITS: "bold green", Verdict.DOES_NOT_FIT: "bold red"}
_INDENT = "  "
_LABEL = 17
_BAR = 20


def write(estimate: Estimate, _recording: Recording | None, stream: TextIO) -> None:
    render(estimate, Console(file=stream, highlight=False))


REPORTER = Reporter(name="terminal", help="the report for people", write=write)


def render(estimate: Estimate, console: Console) -> None:
    console.print(Text(headline(estimate), style=_STYLES.get(estimate.verdict, "bold yellow")), soft_wrap=True)
    for label, text in _facts(estimate):
        console.print(Text(f"{_INDENT}{label:<{_LABEL}}", style="dim") + Text(text), soft_wrap=True)
    for note in notes(estimate):
        console.print(Text(f"{_INDENT}note: {note}", style="yellow"), soft_wrap=True)
    console.print(Text(f"{_INDENT}{_provenance(estimate)}", style="dim"), soft_wrap=True)
    for line in _next_steps(estimate):
        console.print(Text(f"{_INDENT}next: {line}"), soft_wrap=True)


def headline(estimate: Estimate) -> str:
    gpu = f"{estimate.gpu.name} ({format_bytes(estimate.gpu.capacity_bytes)})"
    return {
        Verdict.FITS: f"Fits on {gpu}",
        Verdict.DOES_NOT_FIT: f"Does not fit on {gpu}",
        Verdict.JOB_FAILED: "The job itself failed (not a memory problem)",
        Verdict.UNSUPPORTED: "Cannot be estimated: something this job needs is not supported",
        Verdict.UNDETERMINED: f"Undetermined: not enough was observed to say whether it fits on {gpu}",
    }[estimate.verdict]


def _facts(estimate: Estimate) -> Iterator[tuple[str, str]]:
    if estimate.failure:
        yield "reason", _reason(estimate.failure)
    if estimate.undetermined:
        yield "reason", estimate.undetermined.message
    worst = estimate.worst
    if worst.needs.unconstrained_bytes is not None:
        yield from _needed(worst, estimate.gpu, worst.needs.unconstrained_bytes)
    if worst.peak.reserved_bytes:
        yield from _peaks(estimate)
        yield "observed", _observed(estimate)
    if held := _held_back(estimate):
        yield "files", held
    for index, share in enumerate(worst.breakdown):
        percent = 100 * share.bytes / max(worst.peak.allocated_bytes or 0, 1)
        yield ("breakdown" if index == 0 else ""), f"{format_bytes(share.bytes):>10}  {percent:3.0f} %  {share.label}"


def _needed(worst: RankEstimate, gpu: GpuFacts, unconstrained_bytes: int) -> Iterator[tuple[str, str]]:
    needs = worst.needs
    size = f"{format_bytes(unconstrained_bytes)}{_guessed(needs.guessed_range_bytes)}"
    bar = _bar(unconstrained_bytes, worst.available_bytes)
    yield "peak reserved", f"{size} of {format_bytes(worst.available_bytes)} available to PyTorch  {bar}"
    if needs.repeats_range_bytes:
        yield "", _repeats(needs, needs.repeats_range_bytes)
    if needs.process_bytes is not None:
        overhead = f"{_contexts(worst, gpu)} + {format_bytes(worst.library_overhead_bytes)} library overhead"
        yield "nvidia-smi", f"{format_bytes(needs.process_bytes)}  (reserved + {overhead})"
    if needs.minimum_bytes is not None:
        least = f"{format_bytes(needs.minimum_bytes)}{_guessed(needs.guessed_minimum_range_bytes)}"
        yield "minimum", f"{least}, after PyTorch frees its cache under pressure"


def _bar(used_bytes: int, available_bytes: int) -> str:
    filled = min(round(_BAR * used_bytes / max(available_bytes, 1)), _BAR)
    return f"[{'#' * filled}{'-' * (_BAR - filled)}]"


def _peaks(estimate: Estimate) -> Iterator[tuple[str, str]]:
    peak, needs = estimate.peak, estimate.needs
    if estimate.verdict is Verdict.UNDETERMINED:
        yield "observed so far", f"{format_bytes(peak.reserved_bytes)} reserved, a lower bound"
    elif needs.unconstrained_bytes != peak.reserved_bytes:
        yield "at this capacity", f"{format_bytes(peak.reserved_bytes)} reserved, after PyTorch freed its cache"
    allocated = "unknown" if peak.allocated_bytes is None else format_bytes(peak.allocated_bytes)
    yield "peak allocated", f"{allocated}  {_when(estimate)}"


def _contexts(worst: RankEstimate, gpu: GpuFacts) -> str:
    if worst.processes == 1:
        return f"{format_bytes(gpu.context_bytes)} CUDA context"
    return f"{format_bytes(worst.processes * gpu.context_bytes)} CUDA contexts of {worst.processes} processes"


def _repeats(needs: Needs, ends: Range) -> str:
    """What differs from run to run on the same GPU."""
    timing = "kernel timing" if needs.timing_range_bytes else ""
    addresses = "the addresses the driver returns" if needs.address_range_bytes else ""
    causes = " and ".join(filter(None, [timing, addresses]))
    low, high = (format_bytes(size) for size in ends)
    return f"between {low} and {high} from run to run: block reuse depends on {causes}"


def _held_back(estimate: Estimate) -> str | None:
    files = estimate.files
    if files is None or files.mode not in (FileMode.OVERLAY, FileMode.INTERPOSER):
        return None
    plural = "file" if files.written == 1 else "files"
    written = f"{files.written} {plural} ({format_bytes(files.bytes)}) written" if files.written else ""
    deleted = f"{files.deleted} deleted" if files.deleted else ""
    done = " and ".join(filter(None, [written, deleted]))
    where = f", most in {files.folder}" if files.folder else ""
    return f"{done} by the job{where}; discarded (--allow-writes keeps them)" if done else None


def _guessed(bounds: Range | None) -> str:
    if bounds is None or bounds[0] == bounds[1]:
        return ""
    return f" ({format_bytes(bounds[0])} to {format_bytes(bounds[1])}, some sizes are estimates)"


def _reason(failure: Failure) -> str:
    where = f" at {failure.file}:{failure.line}" if failure.file else ""
    code = f"\n{_INDENT}{'':<{_LABEL}}> {failure.code.strip()}" if failure.code else ""
    return f"{failure.message}{where}{code}"


def _when(estimate: Estimate) -> str:
    if estimate.steps == 0:
        return "before the first optimizer step"
    if estimate.peak.step >= estimate.steps:
        return "after the last step"
    return f"in step {estimate.peak.step + 1} of {estimate.steps}"


def _observed(estimate: Estimate) -> str:
    """The phases of the job that were observed."""
    seen = estimate.observed
    unit = "backward pass" if seen.updates_by_hand else "step"
    parts = [_counted("training", seen.training_steps or estimate.steps, unit)]
    if seen.evaluation_batches:
        parts.append(_counted("evaluation", seen.evaluation_batches, "batch"))
    elif seen.evaluations:
        parts.append("evaluation")
    if seen.captures:
        parts.append(_counted("graph capture", seen.captures, "time"))
    if seen.checkpoints:
        parts.append("checkpoint")
    how = ", repeated parts skipped" if seen.fast_forwarded else ""
    return f"{', '.join(parts)}{', to its end' if seen.to_the_end else ''}{how}"


def _counted(what: str, number: int, unit: str) -> str:
    plural = "" if number == 1 else "es" if unit.endswith(("s", "ch")) else "s"
    return f"{what} ({number:,} {unit}{plural})"


def _provenance(estimate: Estimate) -> str:
    source = estimate.provenance
    torch = f"torch {source.torch}" if source.torch else "torch not loaded"
    allocator = f", {source.allocator_conf}" if source.allocator_conf else ""
    steps = "1 step" if estimate.steps == 1 else f"{estimate.steps:,} steps"
    runs = "1 run" if len(estimate.runs) == 1 else f"{len(estimate.runs)} runs"
    return f"{torch}{allocator}, {steps}, {runs}, {estimate.elapsed_s:.1f} s"


def _next_steps(estimate: Estimate) -> Iterator[str]:
    if estimate.undetermined:
        yield estimate.undetermined.hint
    if estimate.failure and estimate.failure.hint:
        yield estimate.failure.hint
    if estimate.not_reached:
        yield "--until-exit runs the job to its own end; --budget SECONDS observes more of it"
    if estimate.verdict is Verdict.DOES_NOT_FIT and estimate.needs.minimum_bytes is None:
        yield f"find the smallest capacity it runs in: {_command(estimate, '--minimum')}"
    elif estimate.needs.assumed_range_bytes:
        yield f"without assumed values, slower: {_command(estimate, '--values', 'real')}"
    elif estimate.verdict is Verdict.JOB_FAILED:
        yield "check that the command runs without veritasest; see its output above"


def _command(estimate: Estimate, *more: str) -> str:
    """The user's own options, and what is new."""
    source = estimate.provenance
    return f"veritasest run {shlex.join((*more, *source.options))} -- {shlex.join(source.command)}"
