"""Runs one command with an engine, watches it, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import platform
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

from veritasest import __version__
from veritasest.engines.base import Session
from veritasest.errors import UsageError
from veritasest.launch.files import Files, Layer, changes, layer_environment, layer_settings, open_layer, start
from veritasest.launch.process_tree import ProcessTree
from veritasest.launch.progress import Progress, ProgressReader
from veritasest.spec.codec import to_plain
from veritasest.spec.enums import ExitReason
from veritasest.spec.job import JobSpec
from veritasest.spec.run import RunSpec
from veritasest.trace import Exit, Gone, Header, HeldBack, TraceWriter
from veritasest.trace.events import SCHEMA
from veritasest.trace.recording import RecordedRun, timestamp

POLL_S = 0.05
SETTINGS_VARIABLE = "VERITASEST_RUN"


@dataclass(frozen=True, kw_only=True)
class Output:
    """`stdout`: a file descriptor for the job's standard output, None: ours. `silent`: for repeated runs, whose output
    was shown the first time."""

    stdout: int | None = None
    silent: bool = False
    on_progress: Callable[[Progress], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A negative `code` is the signal that killed the child."""

    code: int | None
    reason: ExitReason
    elapsed_s: float


def launch(
    job: JobSpec, run: RunSpec, *, session: Session, recorded: RecordedRun, files: Files, output: Output
) -> Outcome:
    """Runs the job to its end, its time limit, or the user's Ctrl-C. The trace is complete when this returns."""
    with ExitStack() as stack:
        trace = stack.enter_context(TraceWriter(recorded.trace_path))
        trace.header(_header(job, run))
        own_paths = (recorded.folder, *session.own_paths)
        layer = stack.enter_context(_layer(files, own_paths, job.environment))
        write_settings(recorded, run, {**session.settings, **layer_settings(files, layer)})
        environment = layer_environment(session.environment, session.libraries, files, layer)
        mark = str(recorded.settings_path)
        environment[SETTINGS_VARIABLE] = mark
        watch = _Watch(session, trace, recorded.trace_path, run.timeout_s, output.on_progress)
        with _interruptions() as interrupted:
            command = _Command(job, session.libraries, files, layer, environment)
            child = command.start(_streams(output))
            tree = ProcessTree(child.pid, f"{SETTINGS_VARIABLE}={mark}")
            try:
                reason = watch.wait(child, interrupted)
            except BaseException:
                tree.end(grace_s=0.0)
                child.wait()
                raise
            # Also after a clean exit: workers that outlive the job would be orphans.
            tree.end(grace_s=1.0 if reason is ExitReason.EXITED else 3.0)
            code = child.wait()
            watch.note_ended(by_us=True)
        trace.write(HeldBack(mode=files.mode, **asdict(changes(layer)) if layer else {}))
        outcome = Outcome(code=code, reason=reason, elapsed_s=watch.elapsed_s)
        trace.end_torn_line()
        peak = _host_peak_bytes()
        trace.write(Exit(code=code, reason=reason, elapsed_s=round(outcome.elapsed_s, 3), host_peak_bytes=peak))
        return outcome


def write_settings(recorded: RecordedRun, run: RunSpec, native: Mapping[str, str | int]) -> None:
    """The one document that the native part and the agent read. The native section comes first, and is flat."""
    document = {"native": {"trace": str(recorded.trace_path), **native}, "run": to_plain(run)}
    text = json.dumps(document, ensure_ascii=False, indent=1)
    recorded.settings_path.write_text(text, encoding="utf-8", errors="surrogateescape")


@dataclass(frozen=True)
class _Command:
    job: JobSpec
    libraries: Path
    files: Files
    layer: Layer | None
    environment: Mapping[str, str]

    def start(self, streams: Mapping[str, int | None]) -> subprocess.Popen[bytes]:
        words = self.job.command
        try:
            return start(
                words,
                files=self.files,
                layer=self.layer,
                libraries=self.libraries,
                cwd=Path(self.job.folder),
                environment=self.environment,
                **streams,
            )
        except OSError as error:
            hint = "a script without execute permission is run as: python SCRIPT"
            raise UsageError(f"cannot run {words[0]!r}: {error.strerror}", hint) from error


def _streams(output: Output) -> dict[str, int | None]:
    if output.silent:
        return {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return {"stdin": None, "stdout": output.stdout, "stderr": None}


@contextmanager
def _layer(files: Files, own_paths: tuple[Path, ...], env: Mapping[str, str]) -> Iterator[Layer | None]:
    """The file layer for this run alone; what the run itself writes stays out of it."""
    if files.place is None:
        yield None
        return
    with open_layer(files.place, kept=own_paths, env=env) as layer:
        yield layer


class _Watch:
    """Waits for the job, and follows its trace."""

    def __init__(
        self,
        session: Session,
        trace: TraceWriter,
        trace_path: Path,
        timeout_s: float | None,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self._session = session
        self._trace = trace
        self._trace_path = trace_path
        self._timeout_s = timeout_s
        self._on_progress = on_progress
        self._started = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._started

    def wait(self, child: subprocess.Popen[bytes], interrupted: threading.Event) -> ExitReason:
        progress = ProgressReader(self._trace_path)
        try:
            while True:
                try:
                    child.wait(POLL_S)
                    self.note_ended()
                    return ExitReason.INTERRUPTED if interrupted.is_set() else ExitReason.EXITED
                except subprocess.TimeoutExpired:
                    self.note_ended()
                if interrupted.is_set():
                    return ExitReason.INTERRUPTED
                if self._timeout_s is not None and self.elapsed_s > self._timeout_s:
                    return ExitReason.TIMEOUT
                if self._on_progress is not None:
                    self._on_progress(progress.read(self.elapsed_s))
        finally:
            progress.close()

    def note_ended(self, *, by_us: bool = False) -> None:
        """A process that is killed writes nothing, yet frees its device memory."""
        for process in self._session.ended_processes():
            self._trace.write(Gone(process=process, by_us=by_us))


@contextmanager
def _interruptions() -> Iterator[threading.Event]:
    """Sets an event on Ctrl-C or SIGTERM instead of dying, so that the job is ended first. Handlers are put back."""
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


def _header(job: JobSpec, run: RunSpec) -> Header:
    return Header(
        schema=SCHEMA,
        created=timestamp(),
        command=job.command,
        veritasest=__version__,
        run=run,
        allocator_conf=job.allocator_conf,
        host=host_facts(),
    )


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
