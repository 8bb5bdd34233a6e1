"""What an engine is: it makes the user's command leave a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from veritasest.spec.gpu import GPU
from veritasest.spec.run import RunSpec


def no_process() -> list[int]:
    return []


@dataclass(frozen=True, kw_only=True)
class Session:
    """What the launcher needs of an engine for one run.

    `environment`: of the child. `settings`: for the native part, the flat section of the run's document. `libraries`:
    the folder of native libraries and programs. `own_paths`: what the run itself writes, so that it must not end up in
    the job's private file layer. `ended_processes`: processes that used the device and were found to have ended since
    the last call.
    """

    environment: Mapping[str, str]
    settings: Mapping[str, str | int]
    libraries: Path
    own_paths: tuple[Path, ...] = ()
    ended_processes: Callable[[], list[int]] = no_process


class Engine(Protocol):
    """Made for one job. Raises UnsupportedEnvironment when it is made, if it cannot run that job."""

    @property
    def name(self) -> str: ...

    @property
    def libraries(self) -> Path: ...

    def warnings(self, gpu: GPU) -> tuple[str, ...]:
        """What the user should know about this combination of GPU, PyTorch and environment."""
        ...

    def session(self, run: RunSpec) -> AbstractContextManager[Session]: ...
