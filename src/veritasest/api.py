"""The facade: one function per question.

JobSpec -> [study] -> RunSpec -> [engine, launch] -> trace      once per run, all in one recording
recording -> [analysis] -> Estimate
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict
from warnings import warn

from veritasest import __version__, analysis, gpus
from veritasest.engines.base import Engine
from veritasest.engines.emulated.engine import EmulatedEngine
from veritasest.engines.scripted import ScriptedEngine
from veritasest.errors import Interrupted, UnsupportedEnvironment, UsageError
from veritasest.launch import Output, Progress, choose_files, resolve
from veritasest.spec.enums import Verdict
from veritasest.spec.estimate import Estimate, Failure, GpuFacts, Provenance
from veritasest.spec.gpu import GPU
from veritasest.spec.job import JobSpec
from veritasest.spec.run import RunSpec
from veritasest.spec.stop import StopRule
from veritasest.spec.values import value_policy
from veritasest.studies import Runner, study_capacity, study_minimum, study_ranges
from veritasest.trace.recording import Recording, create_recording, new_manifest, open_recording, timestamp
from veritasest.units import parse_bytes

if TYPE_CHECKING:
    from typing_extensions import Unpack

DEFAULT_GPU = "h200"
ENGINES: Mapping[str, Callable[[JobSpec], Engine]] = {"emulated": EmulatedEngine, "scripted": ScriptedEngine}
ENGINE_VARIABLE = "VERITASEST_ENGINE"  # for tests: the name of an engine
_NO_VERDICT = (Verdict.JOB_FAILED, Verdict.UNSUPPORTED, Verdict.UNDETERMINED)

__all__ = [
    "DEFAULT_GPU",
    "Options",
    "estimate",
    "estimate_of",
    "estimate_recording",
    "is_kept",
    "open_recording",
    "record",
    "unsupported",
]


class Options(TypedDict, total=False):
    """What `estimate` can be asked for. Every key may be left out."""

    gpu: str | None  # the target GPU (default: h200); `veritasest gpus` lists them
    memory: int | str | None  # another capacity for it: "16GiB", or bytes
    steps: int | None  # end the job after so many optimizer steps
    until_exit: bool  # let the job run to its own end
    budget_s: float | None  # seconds for observing the rest of the job once its peak has settled
    timeout_s: float | None  # end each run after so many seconds
    minimum: bool  # also search the smallest capacity at which the job completes (up to 8 more runs)
    values: str  # "auto", "real", "real:MODULE" or "off": which values are computed
    assume: Mapping[str, float | str | bool]  # assumptions for the others: {"mask": 0.3, "scalar": 1e-3}
    host_memory: int | str | None  # how much of the host's memory real values may take
    allow_writes: bool  # let the job write, rename and delete files for real
    save: str | os.PathLike[str] | None  # keep the recording in this folder
    cwd: str | os.PathLike[str] | None  # where the job runs (default: the current folder)
    env: Mapping[str, str] | None  # its environment (default: ours)
    stdout: int | None  # a file descriptor for its standard output
    on_progress: Callable[[Progress], None] | None  # called several times a second
    on_notice: Callable[[str], None]  # called before the job starts, if its files cannot be protected


def estimate(command: Sequence[str], **options: Unpack[Options]) -> Estimate:
    """Runs `command` on an emulated GPU and returns how much memory it needs.

    By default the job's whole life is observed, repeated parts skipped, and what it writes, renames or deletes is held
    back in a private layer and discarded.

    Raises UsageError, UnsupportedEnvironment or Interrupted. A job that fails is an Estimate with that verdict.
    """
    recording = record(command, **options)
    try:
        result = estimate_of(recording)
    except BaseException:
        if options.get("save") is None:
            shutil.rmtree(recording.folder, ignore_errors=True)
        raise
    if options.get("save") is not None or is_kept(result):
        return replace(result, recording=str(recording.folder))
    shutil.rmtree(recording.folder, ignore_errors=True)
    return result


def record(command: Sequence[str], **options: Unpack[Options]) -> Recording:
    """Makes the runs that an estimate needs. Without `save` the recording is in a temporary folder, which the caller
    deletes."""
    unknown = sorted(set(options) - set(Options.__annotations__))
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
    asked = _asked(options)
    job = _job(command, options)
    engine = ENGINES[job.environment.get(ENGINE_VARIABLE, "emulated")](job)
    runner = _runner(job, engine, asked, options)
    try:
        study_capacity(runner)
        if runner.recording.manifest.minimum:
            study_minimum(runner)
        study_ranges(runner)
    except Interrupted as error:
        raise Interrupted(error.message, f"the recording so far: {runner.recording.folder}") from None
    except BaseException:
        if options.get("save") is None:
            shutil.rmtree(runner.recording.folder, ignore_errors=True)
        raise
    return runner.recording


def estimate_recording(folder: str | os.PathLike[str]) -> Estimate:
    """The estimate of a saved recording. Needs neither torch nor the machine it was made on."""
    return estimate_of(open_recording(folder))


def estimate_of(recording: Recording) -> Estimate:
    return analysis.estimate(recording)


def is_kept(result: Estimate) -> bool:
    """Whether the recording is worth a look, so that it is kept without being asked for."""
    return result.verdict in _NO_VERDICT


def unsupported(error: UnsupportedEnvironment, command: Sequence[str], options: Options) -> Estimate:
    """The estimate of a job that cannot be run here: the same shape as any other."""
    gpu = target_gpu(options.get("gpu") or DEFAULT_GPU, options.get("memory"))
    return Estimate(
        verdict=Verdict.UNSUPPORTED,
        gpu=GpuFacts.of(gpu),
        failure=Failure(kind="environment", message=error.message, hint=error.hint or None),
        provenance=Provenance(command=tuple(command), veritasest=__version__, created=timestamp()),
    )


def _asked(options: Options) -> RunSpec:
    gpu = target_gpu(options.get("gpu") or DEFAULT_GPU, options.get("memory"))
    timeout_s, host_memory = options.get("timeout_s"), options.get("host_memory")
    if timeout_s is not None and timeout_s <= 0:
        raise UsageError(f"the timeout must be above zero, not {timeout_s}", "it is in seconds")
    host_bytes = parse_bytes(host_memory) if isinstance(host_memory, str) else host_memory
    return RunSpec(
        gpu=gpu,
        limit_bytes=gpu.available_bytes,
        stop=_stop_rule(options),
        values=value_policy(options.get("values", "auto"), options.get("assume") or {}, host_bytes),
        timeout_s=timeout_s,
    )


def target_gpu(name: str, memory: int | str | None) -> GPU:
    target = gpus.find(name)
    if memory is None:
        return target
    return target.with_memory(parse_bytes(memory) if isinstance(memory, str) else memory)


def _stop_rule(options: Options) -> StopRule:
    steps, until_exit, budget_s = options.get("steps"), options.get("until_exit", False), options.get("budget_s")
    if steps is not None and steps < 1:
        raise UsageError(f"steps must be at least 1, not {steps}", "leave it out to stop once the peak has settled")
    if steps is not None and until_exit:
        raise UsageError("steps and until_exit exclude each other", "give one of them")
    if budget_s is not None and budget_s < 0:
        raise UsageError(f"the budget must not be below zero, not {budget_s}", "it is in seconds")
    return StopRule(steps=steps, until_exit=until_exit, budget_s=budget_s)


def _job(command: Sequence[str], options: Options) -> JobSpec:
    if isinstance(command, str):
        raise UsageError(f"the command is one string: {command!r}", "give a list of words: ['python', 'train.py']")
    env = options.get("env")
    return resolve(
        command, cwd=Path(options.get("cwd") or Path.cwd()).resolve(), env=dict(os.environ if env is None else env)
    )


def _runner(job: JobSpec, engine: Engine, asked: RunSpec, options: Options) -> Runner:
    files = choose_files(job, libraries=engine.libraries, allow_writes=options.get("allow_writes", False))
    if files.notice:
        options.get("on_notice", warn)(files.notice)
    chosen = () if options.get("gpu") else (f"no --gpu given: estimated for the {asked.gpu.name}",)
    manifest = new_manifest(
        engine=engine.name, command=job.command, gpu=asked.gpu, minimum=options.get("minimum", False)
    )
    save = options.get("save")
    return Runner(
        job=job,
        engine=engine,
        asked=asked,
        recording=create_recording(
            Path(save) if save else Path(tempfile.mkdtemp(prefix="veritasest-")),
            replace(manifest, warnings=(*chosen, *engine.warnings(asked.gpu))),
        ),
        files=files,
        output=Output(stdout=options.get("stdout"), on_progress=options.get("on_progress")),
    )
