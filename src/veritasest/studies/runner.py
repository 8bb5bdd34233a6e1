"""Carries out runs of one job with one engine, and records them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from veritasest.analysis import CompletedRun, complete
from veritasest.engines.base import Engine
from veritasest.errors import Interrupted
from veritasest.launch import Files, Output, launch
from veritasest.spec.enums import ExitReason, Purpose
from veritasest.spec.gpu import GPU
from veritasest.spec.job import JobSpec
from veritasest.spec.run import RunSpec
from veritasest.trace.recording import Recording

LIBRARY_ROOM_BYTES = 2 << 30  # more than libraries use


@dataclass(frozen=True, kw_only=True)
class Runner:
    """`asked`: the run that the user asked for; others differ from it."""

    job: JobSpec
    engine: Engine
    asked: RunSpec
    recording: Recording
    files: Files
    output: Output

    @property
    def gpu(self) -> GPU:
        return self.asked.gpu

    def completed(self) -> list[CompletedRun]:
        return [complete(run) for run in self.recording.runs]

    def run(self, purpose: Purpose, spec: RunSpec) -> CompletedRun:
        """The output of the job is shown once, in the first run."""
        silent = bool(self.recording.runs)
        recorded = self.recording.begin(purpose)
        output = replace(self.output, silent=silent)
        with self.engine.session(spec) as session:
            outcome = launch(self.job, spec, session=session, recorded=recorded, files=self.files, output=output)
        if outcome.reason is ExitReason.INTERRUPTED:
            raise Interrupted(f"interrupted after {outcome.elapsed_s:.1f} s; the job was ended")
        return complete(recorded)

    def rerun(self, purpose: Purpose, like: CompletedRun, spec: RunSpec) -> CompletedRun:
        """`spec`, going as far as another run did, skipping the same parts."""
        return self.run(purpose, replace(spec, stop=like.same_stop_rule))

    def limited(self, limit_bytes: int | None) -> RunSpec:
        """A run whose allocations may add up to `limit_bytes`. Near the GPU's own capacity it needs a GPU with room for
        libraries beyond that."""
        gpu = self.gpu
        if limit_bytes is not None and limit_bytes + LIBRARY_ROOM_BYTES > gpu.available_bytes:
            gpu = gpu.with_memory(limit_bytes + LIBRARY_ROOM_BYTES + gpu.context_bytes)
        return replace(self.asked, gpu=gpu, limit_bytes=limit_bytes)
