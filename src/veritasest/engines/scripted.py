"""The engine for tests: no emulated device and no PyTorch. The job itself writes the trace, with a `Script`:

from veritasest.engines.scripted import Script
job = Script()
job.start()
job.reserve(3 << 30)
job.step(1, peak_bytes=3 << 30)
job.end(EndReason.STEPS)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from veritasest.engines.base import Session
from veritasest.engines.emulated.agent import settings
from veritasest.spec.enums import EndReason
from veritasest.spec.gpu import GPU
from veritasest.spec.job import JobSpec
from veritasest.spec.run import RunSpec
from veritasest.trace import End, JobException, OutOfMemory, Process, Segment, Step, TraceWriter


class ScriptedEngine:
    name = "scripted"

    def __init__(self, job: JobSpec) -> None:
        self._job = job
        self.libraries = Path(__file__).parent  # there are none

    def warnings(self, gpu: GPU) -> tuple[str, ...]:  # noqa: ARG002 (an engine may have some)
        return ()

    @contextmanager
    def session(self, run: RunSpec) -> Iterator[Session]:  # noqa: ARG002 (it reaches the job through its document)
        package = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, [package, self._job.environment.get("PYTHONPATH")]))
        environment = {**self._job.environment, "PYTHONPATH": path}
        yield Session(environment=environment, settings={}, libraries=self.libraries)


class Script:
    """Plays device and agent of one process, on device 0."""

    def __init__(self) -> None:
        given = settings.load()
        self.run = given.run()
        self.limit_bytes = float("inf") if self.run.limit_bytes is None else self.run.limit_bytes
        self.trace = TraceWriter(given.trace)
        self._reserved_bytes = 0

    def start(self, torch: str = "2.11.0+cu130", rank: int | None = None) -> None:
        """PyTorch has initialised CUDA."""
        self.trace.write(Process(torch=torch, cuda="13.0", cudnn=91900, python="3.11.7", rank=rank))

    def reserve(self, total_bytes: int) -> None:
        """The allocator holds so much from now on."""
        change, self._reserved_bytes = total_bytes - self._reserved_bytes, total_bytes
        op = "alloc" if change >= 0 else "free"
        self.trace.write(Segment(op=op, device=0, bytes=abs(change), address=1, used_bytes=total_bytes))

    def step(self, number: int, peak_bytes: int) -> None:
        self.trace.write(Step(step=number, allocated_peak_bytes=peak_bytes, reserved_peak_bytes=peak_bytes))

    def end(self, reason: EndReason | str) -> None:
        self.trace.write(End(reason=EndReason(reason)))

    def run_out_of_memory(self, requested_bytes: int) -> NoReturn:
        self.trace.write(OutOfMemory(bytes=requested_bytes, file="train.py", line=7, code="model(x)"))
        self.trace.write(JobException(type="torch.OutOfMemoryError", message="CUDA out of memory."))
        sys.exit(1)
