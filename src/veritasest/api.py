"""`veritasest.estimate`: the one place that knows every stage.

command -> [device] run on the emulated GPU -> trace -> [analysis] -> Estimate
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from veritasest import analysis, device, gpus
from veritasest.analysis import Judgement
from veritasest.device import Progress, StopRule
from veritasest.errors import Interrupted, UnsupportedEnvironment, UsageError
from veritasest.result import Estimate, GpuFacts, Needs, NotModelled, Part, Peak, Provenance, Run
from veritasest.trace import Exit, Process, Trace, Unmodelled, read
from veritasest.units import parse_bytes

DEFAULT_GPU = "h200"


@dataclass(frozen=True, kw_only=True)
class _Job:
    """All that stays the same from run to run."""

    command: device.Command
    installation: device.Installation
    gpu: gpus.GPU
    build: device.TorchBuild | None
    stop: StopRule
    timeout_s: float | None
    cwd: Path
    env: Mapping[str, str]
    stdout: int | None
    on_progress: Callable[[Progress], None] | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """One run, analysed."""

    trace: Trace
    judgement: Judgement
    peak: Peak
    steps: int

    @property
    def run(self) -> Run:
        ending = self.trace.of(Exit)[-1]
        return Run(
            limit_bytes=self.trace.header.limit_bytes,
            verdict=self.judgement.verdict,
            steps=self.steps,
            elapsed_s=ending.elapsed_s,
            host_peak_bytes=ending.host_peak_bytes,
        )


def estimate(
    command: Sequence[str],
    *,
    gpu: str = DEFAULT_GPU,
    memory: int | str | None = None,
    steps: int | None = None,
    until_exit: bool = False,
    timeout_s: float | None = None,
    minimum: bool = False,
    trace: str | os.PathLike[str] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stdout: int | None = None,
) -> Estimate:
    """Runs `command` on an emulated `gpu` and returns what it needs.

    `memory` overrides the GPU's capacity ("16GiB" or bytes). The job is ended once its peak has settled, after `steps`
    optimizer steps, or, with `until_exit`, by itself; `timeout_s` bounds each run. `minimum` also searches the smallest
    capacity at which the job completes (up to 8 more runs). `trace` keeps the record of the run in that file. `stdout`
    is a file descriptor for the job's standard output.

    Raises UsageError, UnsupportedEnvironment or Interrupted. A job that fails is an Estimate with that verdict.
    """
    stop = _stop_rule(steps, until_exit, timeout_s)
    target = _target(gpu, memory)
    job = _prepare(command, target, stop, timeout_s, cwd, env, stdout, on_progress)
    path, keep = _trace_path(trace)
    try:
        result = _estimate(job, path, minimum=minimum, keep_all=keep)
    except Interrupted:
        raise
    except BaseException:
        _discard(path)
        raise
    if keep or result.verdict in ("job_failed", "unsupported"):
        return replace(result, trace_path=str(path))
    _discard(path)
    return result


def _estimate(job: _Job, path: Path, *, minimum: bool, keep_all: bool) -> Estimate:
    """The run at capacity decides; a second one without limit tells the need where the first was pressed."""
    first = _run(job, path, job.gpu.available_bytes)
    runs = [first.run]
    warnings = [*job.warnings, *first.judgement.warnings]
    free: _Seen | None = first
    if first.judgement.verdict == "does_not_fit" or (first.judgement.verdict == "fits" and first.judgement.pressed):
        free = _run_aside(job, path, "run2", None, keep=keep_all)
        runs.append(free.run)
        if free.judgement.verdict != "fits":
            reason = free.judgement.failure.message if free.judgement.failure else "no reason recorded"
            warnings.append(f"the run without limit did not complete, so the need is not known: {reason}")
            free = None
    elif first.judgement.verdict != "fits":
        free = None
    smallest = None
    if minimum and free is not None:
        smallest = _minimum(job, path, free, runs)
    shown = free if free is not None and first.judgement.verdict == "does_not_fit" else first
    needs = Needs(comfortable_bytes=free.peak.reserved_bytes if free else None, minimum_bytes=smallest)
    if free is not None and (bounds := _bounds(free)):
        needs = _with_ranges(needs, free, [_bound(job, path, free, guesses, runs) for guesses in bounds])
    return _assemble(job, first, shown, free, needs, runs, warnings)


def _bounds(free: _Seen) -> tuple[str, ...]:
    """The bounds worth a run: guesses that are their own lower bound have only the upper one."""
    how = {event.how for event in free.trace.of(Unmodelled)}
    return ("low", "high") if "bounded" in how else ("high",) if "bounded above" in how else ()


def _bound(job: _Job, path: Path, free: _Seen, guesses: str, runs: list[Run]) -> _Seen:
    """The job once more without limit, as far as the free run, every guessed size at one of its bounds."""
    again = replace(job, stop=StopRule(steps=free.steps) if free.steps else job.stop)
    seen = _run_aside(again, path, guesses, None, keep=False, guesses=guesses)
    runs.append(seen.run)
    return seen


def _with_ranges(needs: Needs, free: _Seen, bounds: Sequence[_Seen]) -> Needs:
    """Reserved memory may go either way with a workspace, hence the least and most of all runs. The minimum follows the
    allocated peak, so its range is moved by as much as that peak."""
    reserved = [seen.peak.reserved_bytes for seen in (free, *bounds)]
    moves = [seen.peak.allocated_bytes - free.peak.allocated_bytes for seen in (free, *bounds)]
    least = needs.minimum_bytes
    return replace(
        needs,
        comfortable_range_bytes=(min(reserved), max(reserved)),
        minimum_range_bytes=None if least is None else (least + min(moves), least + max(moves)),
    )


def _run(job: _Job, path: Path, limit_bytes: int | None, *, silent: bool = False, guesses: str | None = None) -> _Seen:
    outcome = device.launch(
        job.command,
        installation=job.installation,
        gpu=_with_room(job.gpu, limit_bytes),
        build=job.build,
        limit_bytes=limit_bytes,
        stop=job.stop,
        timeout_s=job.timeout_s,
        trace_path=path,
        cwd=job.cwd,
        env=job.env,
        stdout=job.stdout,
        silent=silent,
        guesses=guesses,
        on_progress=job.on_progress,
    )
    if outcome.reason == "interrupted":
        raise Interrupted(f"interrupted after {outcome.elapsed_s:.1f} s; the job was ended", f"its trace: {path}")
    trace = read(path)
    return _Seen(
        trace=trace,
        judgement=analysis.judge(trace),
        peak=analysis.peak(trace),
        steps=analysis.steps(trace.events),
    )


def _run_aside(
    job: _Job, path: Path, suffix: str, limit_bytes: int | None, *, keep: bool, guesses: str | None = None
) -> _Seen:
    """A further run, with its trace beside the first one's. The job's output was shown once already."""
    aside = path.with_name(f"{path.name}.{suffix}")
    _discard(aside)
    try:
        return _run(job, aside, limit_bytes, silent=True, guesses=guesses)
    finally:
        if not keep:
            _discard(aside)


def _with_room(gpu: gpus.GPU, limit_bytes: int | None) -> gpus.GPU:
    """A trial above the GPU's own capacity needs a GPU that has it: total and free memory must agree."""
    if limit_bytes is None or limit_bytes <= gpu.available_bytes:
        return gpu
    return gpu.with_memory(limit_bytes + gpu.context_bytes)


def _minimum(job: _Job, path: Path, free: _Seen, runs: list[Run]) -> int:
    """Every trial must get as far as the free run did: a job that dies later at a smaller capacity did not complete."""
    stop = StopRule(steps=free.steps) if free.steps else job.stop
    trial_job = replace(job, stop=stop)

    def completes(limit_bytes: int) -> bool:
        seen = _run_aside(trial_job, path, "minimum", limit_bytes, keep=False)
        runs.append(seen.run)
        return seen.judgement.verdict == "fits" and seen.steps >= free.steps

    return analysis.smallest_that_completes(
        fails_bytes=free.peak.allocated_bytes, completes_bytes=free.peak.reserved_bytes, completes=completes
    )


def _assemble(
    job: _Job,
    first: _Seen,
    shown: _Seen,
    free: _Seen | None,
    needs: Needs,
    runs: Sequence[Run],
    warnings: Sequence[str],
) -> Estimate:
    judgement = first.judgement
    parts: tuple[Part, ...] = analysis.composition(shown.trace)
    return Estimate(
        verdict=judgement.verdict,
        gpu=GpuFacts(
            id=job.gpu.id,
            name=job.gpu.name,
            capacity_bytes=job.gpu.total_bytes,
            context_bytes=job.gpu.context_bytes,
            available_bytes=job.gpu.available_bytes,
        ),
        peak=shown.peak,
        needs=needs,
        steps=shown.steps,
        settled=shown.judgement.settled,
        elapsed_s=round(sum(run.elapsed_s for run in runs), 3),
        failure=judgement.failure,
        not_modelled=_not_modelled(first.trace, shown.trace),
        warnings=tuple(dict.fromkeys([*warnings, *_close_call(job, free)])),
        composition=parts,
        provenance=_provenance(shown.trace),
        runs=tuple(runs),
        trace_path=None,
    )


def _close_call(job: _Job, free: _Seen | None) -> tuple[str, ...]:
    """An assumed context matters only where the verdict hangs on it."""
    if free is None or job.gpu.evidence.get("context_bytes") != "assumed":
        return ()
    if abs(job.gpu.available_bytes - free.peak.reserved_bytes) > job.gpu.context_bytes:
        return ()
    return (f"a close call: the size of the CUDA context on an {job.gpu.name} is assumed, not measured",)


def _not_modelled(*traces: Trace) -> tuple[NotModelled, ...]:
    """Each name once, with the first place that led to it."""
    events = {(e.library, e.name, e.how): e for trace in reversed(traces) for e in reversed(trace.of(Unmodelled))}
    return tuple(
        NotModelled(library=e.library, name=e.name, how=e.how, file=e.file, line=e.line)
        for e in sorted(events.values(), key=lambda event: event.t)
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


def _prepare(
    command: Sequence[str],
    gpu: gpus.GPU,
    stop: StopRule,
    timeout_s: float | None,
    cwd: str | os.PathLike[str] | None,
    env: Mapping[str, str] | None,
    stdout: int | None,
    on_progress: Callable[[Progress], None] | None,
) -> _Job:
    """Everything that can be wrong before the job starts is found here."""
    if isinstance(command, str):
        raise UsageError(f"the command is one string: {command!r}", "give a list of words: ['python', 'train.py']")
    folder = Path(cwd or Path.cwd()).resolve()
    base = dict(os.environ if env is None else env)
    resolved = device.resolve(command, cwd=folder, env=base)
    installation = device.installed()
    build = device.inspect_build(resolved.python, cwd=folder, env=base) if resolved.python else None
    warnings = device.device_warnings(gpu, build, base)
    if build is None:
        warnings = (f"which Python {resolved.words[0]!r} starts is not known beforehand; CUDA 13 assumed", *warnings)
    if build is not None and not installation.preload(int(build.cuda.split(".")[0])):
        raise UnsupportedEnvironment(f"no stand-in libraries for CUDA {build.cuda}", "run: veritasest doctor")
    return _Job(
        command=resolved,
        installation=installation,
        gpu=gpu,
        build=build,
        stop=stop,
        timeout_s=timeout_s,
        cwd=folder,
        env=base,
        stdout=stdout,
        on_progress=on_progress,
        warnings=warnings,
    )


def _target(gpu: str, memory: int | str | None) -> gpus.GPU:
    target = gpus.find(gpu)
    if memory is None:
        return target
    return target.with_memory(parse_bytes(memory) if isinstance(memory, str) else memory)


def _stop_rule(steps: int | None, until_exit: bool, timeout_s: float | None) -> StopRule:
    if steps is not None and steps < 1:
        raise UsageError(f"steps must be at least 1, not {steps}", "leave it out to stop once the peak has settled")
    if steps is not None and until_exit:
        raise UsageError("steps and until_exit exclude each other", "give one of them")
    if timeout_s is not None and timeout_s <= 0:
        raise UsageError(f"the timeout must be above zero, not {timeout_s}", "it is in seconds")
    return StopRule(steps=steps, until_exit=until_exit)


def _trace_path(trace: str | os.PathLike[str] | None) -> tuple[Path, bool]:
    """Where the trace goes, and whether it stays. A fresh file: a trace is never mixed with an older one."""
    if trace is None:
        descriptor, name = tempfile.mkstemp(prefix="veritasest-", suffix=".vest")
        os.close(descriptor)
        return Path(name), False
    path = Path(trace).resolve()
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        raise UsageError(f"the trace file {path} exists", "delete it, or name another") from None
    except OSError as error:
        raise UsageError(
            f"cannot write the trace {path}: {error.strerror}", "name a file in a writable folder"
        ) from error
    return path, True


def _discard(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
