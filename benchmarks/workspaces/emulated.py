"""The environment of a process that sees an emulated H200, without the agent's stop rule: for asking its libraries."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from veritasest.engines.emulated.environment import StopRule, child_environment
from veritasest.engines.emulated.libraries import installed, plain_paths
from veritasest.gpus import find
from veritasest.launch.interpreter import inspect_build


@contextmanager
def emulated_environment(trace_path: Path) -> Iterator[dict[str, str]]:
    """Good until the block ends: where the package lies under a path with a space, a link stands in for it."""
    with plain_paths(installed()) as installation:
        yield child_environment(
            installation=installation,
            gpu=find("h200"),
            build=inspect_build(sys.executable, cwd=trace_path.parent, env=os.environ),
            limit_bytes=None,
            trace_path=trace_path,
            stop=StopRule(until_exit=True),
            base=os.environ,
        )
