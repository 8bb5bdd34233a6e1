"""The emulated H200 without the agent: for asking its libraries, and as the yardstick of an estimate's cost.

The only place of the benchmarks that uses the package's internals to set the device up.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from veritasest.device import StopRule, child_environment, inspect_build, installed
from veritasest.device.libraries import plain_paths
from veritasest.errors import UnsupportedEnvironment
from veritasest.gpus import find


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
    trace_path: Path, *, base: Mapping[str, str] = os.environ, limited: bool = False
) -> Iterator[dict[str, str]]:
    """For a process that runs on the emulated device to its own end. Valid until the block ends, because a link may
    replace an installation path that the loader cannot handle. `limited`: to the memory of a real H200."""
    gpu = find("h200")
    with plain_paths(installed()) as installation:
        yield child_environment(
            installation=installation,
            gpu=gpu,
            build=inspect_build(sys.executable, cwd=trace_path.parent, env=base),
            limit_bytes=gpu.total_bytes - gpu.context_bytes if limited else None,
            trace_path=trace_path,
            stop=StopRule(until_exit=True),
            base=base,
        )
