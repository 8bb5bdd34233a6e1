"""The environment of a process that sees an emulated H200, without the agent's stop rule: for asking its libraries."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from veritasest.device import StopRule, child_environment, inspect_build, installed
from veritasest.gpus import find


def emulated_environment(trace_path: Path) -> dict[str, str]:
    return child_environment(
        installation=installed(),
        gpu=find("h200"),
        build=inspect_build(sys.executable, cwd=trace_path.parent, env=os.environ),
        limit_bytes=None,
        trace_path=trace_path,
        stop=StopRule(until_exit=True),
        base=os.environ,
    )
