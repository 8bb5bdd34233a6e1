"""The emulated H200 without the agent: for asking its libraries, and as the yardstick of an estimate's cost.

The only place of the benchmarks that uses the package's internals to set the device up.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from veritasest.engines.emulated.build import inspect_build
from veritasest.engines.emulated.engine import EmulatedEngine
from veritasest.engines.emulated.libraries import installed
from veritasest.errors import UnsupportedEnvironment
from veritasest.gpus import find
from veritasest.launch.launcher import SETTINGS_VARIABLE, write_settings
from veritasest.spec.enums import Purpose
from veritasest.spec.job import JobSpec
from veritasest.spec.run import RunSpec
from veritasest.spec.stop import StopRule
from veritasest.trace.recording import RecordedRun


def library_folder() -> Path:
    """With the built stand-in libraries; VERITASEST_LIB names another build."""
    return installed().libraries


def why_unavailable() -> str | None:
    """Why there is no emulated device to ask here; None if there is one."""
    try:
        installed()
        inspect_build(sys.executable, cwd=Path.cwd(), env=os.environ)
    except UnsupportedEnvironment as reason:
        return str(reason)
    return None


@contextmanager
def emulated_environment(
    folder: Path, *, base: Mapping[str, str] = os.environ, limited: bool = False
) -> Iterator[dict[str, str]]:
    """For a process that runs on the emulated device to its own end; its trace and settings go into `folder`. Valid
    until the block ends. `limited`: to the memory of a real H200."""
    gpu = find("h200")
    job = JobSpec(command=(sys.executable,), folder=str(folder), python=sys.executable, environment=base)
    run = RunSpec(gpu=gpu, limit_bytes=gpu.available_bytes if limited else None, stop=StopRule(until_exit=True))
    recorded = RecordedRun(purpose=Purpose.CAPACITY, folder=folder)
    recorded.trace_path.touch()
    with EmulatedEngine(job).session(run) as session:
        write_settings(recorded, run, session.settings)
        yield {**session.environment, SETTINGS_VARIABLE: str(recorded.settings_path)}
