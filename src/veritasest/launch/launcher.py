"""Runs one command on the emulated device, watches it, and leaves nothing behind."""

from __future__ import annotations

import os
import platform
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from veritasest import __version__
from veritasest.engines.emulated.accounting import SharedBooks
from veritasest.engines.emulated.caches import compiler_caches
from veritasest.engines.emulated.environment import StopRule, child_environment
from veritasest.engines.emulated.libraries import Installation, plain_paths
from veritasest.errors import UsageError
from veritasest.gpus import GPU
from veritasest.launch.files import Files, Layer, changes, open_layer, start, tracker_environment
from veritasest.launch.interpreter import Command, TorchBuild
from veritasest.launch.process_tree import Family
from veritasest.spec.values import Values
from veritasest.trace import SCHEMA, Segment, StageBegun, Step, Tail, TraceWriter

POLL_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What a live display shows. Bytes are those of the fullest process. Once the peak has settled, `budget_s` may be
    spent on the rest of the job's life, since `settled_at_s`."""

    step: int = 0
    used_bytes: int = 0
    peak_bytes: int = 0
    elapsed_s: float = 0.0
    limit_bytes: int | None = None
    stage: str = ""
    budget_s: float | None = None
    settled_at_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`reason`: "exited", "timeout" or "interrupted". A negative `code` is the signal that killed the child."""

    code: int | None
    reason: str
    elapsed_s: float
    trace_path: Path


def launch(
    command: Command,
    *,
    installation: Installation,
    gpu: GPU,
    build: TorchBuild | None,
    limit_bytes: int | None,
    stop: StopRule,
    timeout_s: float | None,
    trace_path: Path,
    cwd: Path,
    env: Mapping[str, str],
    stdout: int | None = None,
    silent: bool = False,
    values: Values | None = None,
    guesses: str | None = None,
    choices: str | None = None,
    files: Files | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Runs `command` to its end, its time limit, or the user's Ctrl-C. The trace is complete when this returns.

    `silent` is for repetitions: what the job prints, and its traceback, were seen the first time. `guesses`: "low" or
    "high" moves every size that is a guess to that bound. `choices`: "none" or "all" does so with every assumed choice.
    """
    files = files or Files(mode="allowed")
    with ExitStack() as stack:
        trace = stack.enter_context(TraceWriter(trace_path))
        plain = stack.enter_context(plain_paths(installation))
        caches = stack.enter_context(compiler_caches(env))
        books = stack.enter_context(SharedBooks())
        ours = (trace_path, books.path, *(Path(path).parent for path in caches.values()))
        layer = stack.enter_context(_layer(files, ours, env))
        trace.header(**_header(command, gpu, limit_bytes, stop, timeout_s, env))
        environment = child_environment(
            installation=plain,
            gpu=gpu,
            build=build,
            limit_bytes=limit_bytes,
            trace_path=trace_path,
            stop=stop,
            base={**env, **caches, **tracker_environment(env, mode=files.mode)},
            values=values,
            guesses=guesses,
            choices=choices,
            books_path=books.path,
            files=files,
            layer=layer,
        )
        started = time.monotonic()
        with _interruptions() as interrupted:
            streams = _streams(stdout, silent)
            child = _start(command, files, layer, installation=plain, cwd=cwd, environment=environment, **streams)
            family = Family(child.pid, trace_path)
            try:
                watch = partial(_note_deaths, books, trace)
                reason = _watch(child, trace_path, started, timeout_s, interrupted, on_progress, limit_bytes, watch)
            except BaseException:
                family.end(grace_s=0.0)
                child.wait()
                raise
            # Also after a clean exit: workers that outlive the job would be orphans.
            family.end(grace_s=1.0 if reason == "exited" else 3.0)
            code = child.wait()
            _note_deaths(books, trace, by_us=True)
        trace.write("files", mode=files.mode, **asdict(changes(layer)) if layer else {})
        outcome = Outcome(code=code, reason=reason, elapsed_s=time.monotonic() - started, trace_path=trace_path)
        trace.end_torn_line()
        trace.write(
            "exit", code=code, reason=reason, elapsed_s=round(outcome.elapsed_s, 3), host_peak_bytes=_host_peak_bytes()
        )
        return outcome


def _start(
    command: Command, files: Files, layer: Layer | None, *, cwd: Path, **options: Any
) -> subprocess.Popen[bytes]:
    try:
        return start(command.words, files=files, layer=layer, cwd=cwd, **options)
    except OSError as error:
        hint = "a script without execute permission is run as: python SCRIPT"
        raise UsageError(f"cannot run {command.words[0]!r}: {error.strerror}", hint) from error


def _streams(stdout: int | None, silent: bool) -> dict[str, int | None]:
    if silent:
        return {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return {"stdin": None, "stdout": stdout, "stderr": None}


@contextmanager
def _layer(files: Files, ours: tuple[Path, ...], env: Mapping[str, str]) -> Iterator[Layer | None]:
    """The layer for this run alone; what the run itself writes (`ours`) stays out of it."""
    if files.place is None:
        yield None
        return
    with open_layer(files.place, kept=ours, env=env) as layer:
        yield layer


def _watch(
    child: subprocess.Popen[bytes],
    trace_path: Path,
    started: float,
    timeout_s: float | None,
    interrupted: threading.Event,
    on_progress: Callable[[Progress], None] | None,
    limit_bytes: int | None,
    note_deaths: Callable[[], None],
) -> str:
    tail = Tail(trace_path)
    progress = Progress(limit_bytes=limit_bytes)
    try:
        while True:
            try:
                child.wait(POLL_S)
                note_deaths()
                return "interrupted" if interrupted.is_set() else "exited"
            except subprocess.TimeoutExpired:
                elapsed_s = time.monotonic() - started
            note_deaths()
            if interrupted.is_set():
                return "interrupted"
            if timeout_s is not None and elapsed_s > timeout_s:
                return "timeout"
            if on_progress is not None:
                progress = _advance(progress, tail, elapsed_s)
                on_progress(progress)
    finally:
        tail.close()


def _note_deaths(books: SharedBooks, trace: TraceWriter, *, by_us: bool = False) -> None:
    """A process that is killed writes nothing, yet gives its device memory back."""
    for process in books.ended():
        trace.write("gone", process=process, by_us=by_us)


def _advance(progress: Progress, tail: Tail, elapsed_s: float) -> Progress:
    progress = replace(progress, elapsed_s=elapsed_s)
    for event in tail.poll():
        if isinstance(event, Segment):
            peak = max(progress.peak_bytes, event.used_bytes)
            progress = replace(progress, used_bytes=event.used_bytes, peak_bytes=peak)
        elif isinstance(event, Step):
            progress = replace(progress, step=max(progress.step, event.step))
        elif isinstance(event, StageBegun):
            since = elapsed_s if progress.settled_at_s is None else progress.settled_at_s
            progress = replace(progress, stage=event.stage, budget_s=event.budget_s, settled_at_s=since)
    return progress


@contextmanager
def _interruptions() -> Iterator[threading.Event]:
    """Sets an event on Ctrl-C or SIGTERM in place of dying, so that the job is ended first. Handlers are put back."""
    event = threading.Event()

    def note(_number: int, _frame: FrameType | None) -> None:
        event.set()

    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _header(
    command: Command,
    gpu: GPU,
    limit_bytes: int | None,
    stop: StopRule,
    timeout_s: float | None,
    env: Mapping[str, str],
) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": list(command.words),
        "veritasest": __version__,
        "gpu": {**asdict(gpu), "evidence": dict(gpu.evidence)},
        "limit_bytes": limit_bytes,
        "allocator_conf": env.get("PYTORCH_ALLOC_CONF") or env.get("PYTORCH_CUDA_ALLOC_CONF"),
        "host": host_facts(),
        "stop": {**asdict(stop), "timeout_s": timeout_s},
    }


def host_facts() -> dict[str, object]:
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def _host_peak_bytes() -> int:
    """The largest resident size among all children waited for so far (the kernel keeps no finer count)."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
