"""The engine that runs a job on the emulated CUDA device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from veritasest.engines.base import Session
from veritasest.engines.caches import compiler_caches
from veritasest.engines.emulated.accounting import SharedAccounting
from veritasest.engines.emulated.build import TorchBuild, inspect_build
from veritasest.engines.emulated.environment import child_environment, device_warnings
from veritasest.engines.emulated.libraries import installed, without_special_characters
from veritasest.engines.emulated.settings import native_settings
from veritasest.errors import UnsupportedEnvironment
from veritasest.spec.gpu import GPU
from veritasest.spec.job import JobSpec
from veritasest.spec.run import RunSpec


class EmulatedEngine:
    """`build` is None for a command whose Python cannot be known before it runs."""

    name = "emulated"

    def __init__(self, job: JobSpec) -> None:
        self._job = job
        self._installation = installed()
        self.build: TorchBuild | None = None
        if job.python:
            self.build = inspect_build(job.python, cwd=Path(job.folder), env=job.environment)
            if not self._installation.has_stand_ins(self.build.cuda_major):
                raise UnsupportedEnvironment(
                    f"no stand-in libraries for CUDA {self.build.cuda}", "run: veritasest doctor"
                )

    @property
    def libraries(self) -> Path:
        return self._installation.libraries

    def warnings(self, gpu: GPU) -> tuple[str, ...]:
        found = device_warnings(gpu, self.build, self._job.environment)
        if self.build is None:
            return (f"cannot tell which Python {self._job.command[0]!r} will start; assuming CUDA 13", *found)
        return found

    @contextmanager
    def session(self, run: RunSpec) -> Iterator[Session]:
        with ExitStack() as stack:
            installation = stack.enter_context(without_special_characters(self._installation))
            caches = stack.enter_context(compiler_caches(self._job.environment))
            accounting = stack.enter_context(SharedAccounting())
            base = {**self._job.environment, **caches}
            yield Session(
                environment=child_environment(installation, self.build, base),
                settings={
                    "home": str(installation.home),
                    "books": str(accounting.path),
                    **native_settings(run, self.build, base),
                },
                libraries=installation.libraries,
                own_paths=(accounting.path, *(Path(path).parent for path in caches.values())),
                ended_processes=accounting.ended,
            )
