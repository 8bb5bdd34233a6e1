"""One job, prepared and run: all that stays the same from run to run, and what one run showed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from veritasest import analysis, gpus
from veritasest.analysis import Judgement
from veritasest.engines.emulated.environment import StopRule, device_warnings
from veritasest.engines.emulated.libraries import Installation, installed
from veritasest.errors import Interrupted, UnsupportedEnvironment, UsageError
from veritasest.launch.files import Files, choose_files
from veritasest.launch.interpreter import Command, TorchBuild, inspect_build, resolve
from veritasest.launch.launcher import Progress, launch
from veritasest.spec.estimate import Peak, Run
from veritasest.spec.values import Values
from veritasest.trace import Exit, Trace, read
from veritasest.units import parse_bytes

LIBRARIES_ROOM = 2 << 30  # more than libraries take for themselves


@dataclass(frozen=True, kw_only=True)
class Job:
    """All that stays the same from run to run."""

    command: Command
    installation: Installation
    gpu: gpus.GPU
    build: TorchBuild | None
    stop: StopRule
    values: Values
    timeout_s: float | None
    cwd: Path
    env: Mapping[str, str]
    stdout: int | None
    on_progress: Callable[[Progress], None] | None
    files: Files
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Seen:
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


def prepare(
    command: Sequence[str],
    gpu: gpus.GPU,
    stop: StopRule,
    values: Values,
    timeout_s: float | None,
    cwd: str | os.PathLike[str] | None,
    env: Mapping[str, str] | None,
    stdout: int | None,
    on_progress: Callable[[Progress], None] | None,
    allow_writes: bool,
) -> Job:
    """Everything that can be wrong before the job starts is found here."""
    if isinstance(command, str):
        raise UsageError(f"the command is one string: {command!r}", "give a list of words: ['python', 'train.py']")
    folder = Path(cwd or Path.cwd()).resolve()
    base = dict(os.environ if env is None else env)
    resolved = resolve(command, cwd=folder, env=base)
    installation = installed()
    build = inspect_build(resolved.python, cwd=folder, env=base) if resolved.python else None
    warnings = device_warnings(gpu, build, base)
    if build is None:
        warnings = (f"which Python {resolved.words[0]!r} starts is not known beforehand; CUDA 13 assumed", *warnings)
    if build is not None and not installation.preload(int(build.cuda.split(".")[0])):
        raise UnsupportedEnvironment(f"no stand-in libraries for CUDA {build.cuda}", "run: veritasest doctor")
    files = choose_files(
        env=base, cwd=folder, words=resolved.words, installation=installation, allow_writes=allow_writes
    )
    return Job(
        command=resolved,
        installation=installation,
        gpu=gpu,
        build=build,
        stop=stop,
        values=values,
        timeout_s=timeout_s,
        cwd=folder,
        env=base,
        stdout=stdout,
        on_progress=on_progress,
        files=files,
        warnings=warnings,
    )


def target_gpu(gpu: str, memory: int | str | None) -> gpus.GPU:
    target = gpus.find(gpu)
    if memory is None:
        return target
    return target.with_memory(parse_bytes(memory) if isinstance(memory, str) else memory)


def stop_rule(steps: int | None, until_exit: bool, timeout_s: float | None, budget_s: float | None) -> StopRule:
    if steps is not None and steps < 1:
        raise UsageError(f"steps must be at least 1, not {steps}", "leave it out to stop once the peak has settled")
    if steps is not None and until_exit:
        raise UsageError("steps and until_exit exclude each other", "give one of them")
    if timeout_s is not None and timeout_s <= 0:
        raise UsageError(f"the timeout must be above zero, not {timeout_s}", "it is in seconds")
    if budget_s is not None and budget_s < 0:
        raise UsageError(f"the budget must not be below zero, not {budget_s}", "it is in seconds")
    return StopRule(steps=steps, until_exit=until_exit, budget_s=budget_s)


def run(
    job: Job,
    path: Path,
    limit_bytes: int | None,
    *,
    silent: bool = False,
    guesses: str | None = None,
    choices: str | None = None,
) -> Seen:
    outcome = launch(
        job.command,
        installation=job.installation,
        gpu=job.gpu,
        build=job.build,
        limit_bytes=limit_bytes,
        stop=job.stop,
        timeout_s=job.timeout_s,
        trace_path=path,
        cwd=job.cwd,
        env=job.env,
        stdout=job.stdout,
        silent=silent,
        values=job.values,
        guesses=guesses,
        choices=choices,
        files=job.files,
        on_progress=job.on_progress,
    )
    if outcome.reason == "interrupted":
        raise Interrupted(f"interrupted after {outcome.elapsed_s:.1f} s; the job was ended", f"its trace: {path}")
    trace = read(path)
    return Seen(
        trace=trace,
        judgement=analysis.judge(trace),
        peak=analysis.peak(trace),
        steps=analysis.steps(trace.events),
    )


def run_aside(
    job: Job,
    path: Path,
    suffix: str,
    limit_bytes: int | None,
    *,
    keep: bool,
    guesses: str | None = None,
    choices: str | None = None,
) -> Seen:
    """A further run, with its trace beside the first one's. The job's output was shown once already."""
    aside = path.with_name(f"{path.name}.{suffix}")
    discard(aside)
    try:
        roomy = replace(job, gpu=_with_room(job.gpu, limit_bytes))
        return run(roomy, aside, limit_bytes, silent=True, guesses=guesses, choices=choices)
    finally:
        if not keep:
            discard(aside)


def as_far_as(seen: Seen, job: Job) -> StopRule:
    """The stop rule that lets another run go as far as this one, by the same course."""
    if not seen.steps:
        return job.stop
    forward_from, leave_from = analysis.same_course(seen.trace)
    ended = analysis.observed(seen.trace).to_the_end
    steps = None if ended else seen.steps
    return StopRule(steps=steps, until_exit=ended, forward_from=forward_from, leave_from=leave_from)


def _with_room(gpu: gpus.GPU, limit_bytes: int | None) -> gpus.GPU:
    """A trial limits allocations alone. Near the GPU's own capacity it needs a GPU with room for the libraries, too."""
    if limit_bytes is None or limit_bytes + LIBRARIES_ROOM <= gpu.available_bytes:
        return gpu
    return gpu.with_memory(limit_bytes + LIBRARIES_ROOM + gpu.context_bytes)


def trace_path_for(trace: str | os.PathLike[str] | None) -> tuple[Path, bool]:
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


def discard(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
