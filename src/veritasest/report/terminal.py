"""The report for people: the answer first, then the doubts, then the detail."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from veritasest.spec.estimate import Estimate, Failure, GpuFacts, Needs
from veritasest.units import format_bytes, with_article

_STYLES = {
    "fits": "bold green",
    "does_not_fit": "bold red",
    "job_failed": "bold yellow",
    "unsupported": "bold yellow",
    "undetermined": "bold yellow",
}
_INDENT = "  "


def render(estimate: Estimate, console: Console, *, notes: tuple[str, ...] = ()) -> None:
    console.print(Text(headline(estimate), style=_STYLES[estimate.verdict]))
    for label, text in _facts(estimate):
        console.print(Text(f"{_INDENT}{label:<14}", style="dim") + Text(text), soft_wrap=True)
    for doubt in (*notes, *_doubts(estimate)):
        console.print(Text(f"{_INDENT}note: {doubt}", style="yellow"), soft_wrap=True)
    console.print(Text(f"{_INDENT}{_provenance(estimate)}", style="dim"), soft_wrap=True)
    for line in _next_steps(estimate):
        console.print(Text(f"{_INDENT}{line}"), soft_wrap=True)


def headline(estimate: Estimate) -> str:
    gpu = f"{with_article(estimate.gpu.name)} ({format_bytes(estimate.gpu.capacity_bytes)})"
    if estimate.verdict == "fits":
        return f"Fits on {gpu}"
    if estimate.verdict == "does_not_fit":
        return f"Does not fit on {gpu}"
    if estimate.verdict == "unsupported":
        return "Cannot be estimated: the job needs something the emulated device does not offer"
    if estimate.verdict == "undetermined":
        return f"Undetermined: too little was seen to say whether it fits on {gpu}"
    return "The job failed for a reason of its own"


def _facts(estimate: Estimate) -> Iterator[tuple[str, str]]:
    if estimate.failure:
        yield "why", _why(estimate.failure)
    if estimate.undetermined:
        yield "why", estimate.undetermined.message
    yield from _needed(estimate.needs, estimate.gpu)
    if estimate.peak.reserved_bytes:
        yield ("peak" if estimate.verdict != "undetermined" else "seen so far"), _peak(estimate)
        yield "observed", _observed(estimate)
    if held := _held_back(estimate):
        yield "files", held
    for index, part in enumerate(estimate.composition):
        share = 100 * part.bytes / max(estimate.peak.allocated_bytes or 0, 1)
        yield ("made of" if index == 0 else ""), f"{format_bytes(part.bytes):>10}  {share:3.0f} %  {part.label}"


def _needed(needs: Needs, gpu: GpuFacts) -> Iterator[tuple[str, str]]:
    if needs.comfortable_bytes is not None:
        yield (
            "needs",
            f"{format_bytes(needs.comfortable_bytes)}{_between(needs.comfortable_range_bytes)} of the "
            f"{format_bytes(gpu.available_bytes)} a job can have there",
        )
    if needs.repeats_range_bytes:
        yield "repeats", _repeats(needs)
    if needs.process_bytes is not None:
        yield (
            "process",
            f"{format_bytes(needs.process_bytes)} in nvidia-smi: {_contexts(gpu)}, "
            f"{format_bytes(gpu.libraries_bytes)} that libraries take for themselves",
        )
    if needs.minimum_bytes is not None:
        size = f"{format_bytes(needs.minimum_bytes)}{_between(needs.minimum_range_bytes)}"
        yield "minimum", f"{size}, with PyTorch emptying its cache on the way"


def _peak(estimate: Estimate) -> str:
    allocated = estimate.peak.allocated_bytes
    return (
        f"reserved {format_bytes(estimate.peak.reserved_bytes)} ({estimate.peak.reserved_bytes:,} bytes), "
        f"allocated {'unknown' if allocated is None else format_bytes(allocated)}, {_when(estimate)}"
    )


def _contexts(gpu: GpuFacts) -> str:
    if gpu.processes == 1:
        return f"{format_bytes(gpu.context_bytes)} more for the CUDA context"
    total = format_bytes(gpu.processes * gpu.context_bytes)
    return f"{total} more for the CUDA contexts of {gpu.processes} processes"


def _repeats(needs: Needs) -> str:
    """What moves the need from run to run on the same GPU."""
    assert needs.repeats_range_bytes is not None
    low, high = (format_bytes(size) for size in needs.repeats_range_bytes)
    causes = [
        cause
        for cause, ends in (
            ("kernel timing", needs.timing_range_bytes),
            ("the addresses the driver gives", needs.address_range_bytes),
        )
        if ends
    ]
    return f"between {low} and {high} from run to run: block reuse depends on {' and '.join(causes)}"


def _held_back(estimate: Estimate) -> str | None:
    files = estimate.files
    if files is None or files.mode not in ("overlay", "interposer") or not (files.written or files.deleted):
        return None
    plural = "file" if files.written == 1 else "files"
    written = f"{files.written} {plural} ({format_bytes(files.bytes)}) written" if files.written else ""
    deleted = f"{files.deleted} deleted" if files.deleted else ""
    where = f", most in {files.folder}" if files.folder else ""
    done = " and ".join(filter(None, [written, deleted]))
    return f"{done} by the job{where}, held back; --allow-writes keeps them"


def _between(bounds: tuple[int, int] | None) -> str:
    return f" ({format_bytes(bounds[0])} to {format_bytes(bounds[1])}, by what is guessed)" if bounds else ""


def _why(failure: Failure) -> str:
    where = f" at {failure.file}:{failure.line}" if failure.file else ""
    code = f"\n{_INDENT}{'':<14}> {failure.code.strip()}" if failure.code else ""
    return f"{failure.message}{where}{code}"


def _when(estimate: Estimate) -> str:
    if estimate.steps == 0:
        return "no optimizer step seen"
    if estimate.peak.step >= estimate.steps:
        return "after the last step"
    return f"reached in step {estimate.peak.step + 1} of {estimate.steps}"


def _observed(estimate: Estimate) -> str:
    """The parts of the job's life that were seen."""
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


def _doubts(estimate: Estimate) -> Iterator[str]:
    for missed in estimate.not_reached[:MOST_LINES]:
        yield f"not reached: {missed.file}:{missed.line} > {missed.what}"
    if len(estimate.not_reached) > MOST_LINES:
        yield f"not reached: {len(estimate.not_reached) - MOST_LINES} more places, all in --json"
    yield from estimate.warnings
    yield from _assumptions(estimate)
    for item in estimate.not_modelled:
        where = f", first at {item.file}:{item.line}" if item.file else ""
        yield f"not modelled: {item.library} {item.name} ({item.how}{where})"


_TOLD = {"size": "sizes counted from", "number": "a decision or number from", "copy": "copies to the host of"}
MOST_LINES = 8


def _assumptions(estimate: Estimate) -> Iterator[str]:
    """Each line of the user's code that read unknown values, and what hangs on them."""
    for value in estimate.assumed[:MOST_LINES]:
        where = f"{value.file}:{value.line}" if value.file else "outside of your code"
        told = "" if value.value is None else f", told {value.value}"
        code = f" > {value.code}" if value.code else ""
        yield f"assumed values: {where}, {_TOLD.get(value.how, value.how)} unknown values{told}{code}"
    if len(estimate.assumed) > MOST_LINES:
        yield f"assumed values: {len(estimate.assumed) - MOST_LINES} more lines, all in --json"
    if _depends_on_assumed_sizes(estimate) and estimate.needs.assumed_range_bytes:
        low, high = (format_bytes(size) for size in estimate.needs.assumed_range_bytes)
        yield f"on the assumed sizes hangs a need between {low} (least chosen) and {high} (most chosen)"


def _depends_on_assumed_sizes(estimate: Estimate) -> bool:
    bounds = estimate.needs.assumed_range_bytes
    return bounds is not None and bounds[0] != bounds[1]


def _provenance(estimate: Estimate) -> str:
    source = estimate.provenance
    torch = f"torch {source.torch}" if source.torch else "torch not seen"
    allocator = f", {source.allocator_conf}" if source.allocator_conf else ""
    plural = "run" if len(estimate.runs) == 1 else "runs"
    return f"{torch}{allocator}, {estimate.steps} steps, {len(estimate.runs)} {plural}, {estimate.elapsed_s:.1f} s"


def _next_steps(estimate: Estimate) -> Iterator[str]:
    if estimate.undetermined:
        yield f"next: {estimate.undetermined.hint}"
    if estimate.not_reached:
        yield "next: --until-exit runs the job to its own end; --budget SECONDS looks further"
    if estimate.trace_path:
        yield f"trace kept: {estimate.trace_path}"
    if estimate.verdict == "does_not_fit" and estimate.needs.minimum_bytes is None:
        yield f"next: the smallest capacity it runs in: veritasest run --minimum {_options(estimate)}"
    elif _depends_on_assumed_sizes(estimate):
        yield f"next: without assumptions, slower: veritasest run --values real {_options(estimate)}"
    elif estimate.verdict == "job_failed":
        yield "next: does it run by itself? its own output above says more"


def _options(estimate: Estimate) -> str:
    return f"--gpu {estimate.gpu.id} -- {shlex.join(estimate.provenance.command)}"
