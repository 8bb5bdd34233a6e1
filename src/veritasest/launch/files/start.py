"""Starts the job inside its layer. The process is the same as without one: no parent in between, no new group."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from veritasest.errors import UnsupportedEnvironment
from veritasest.launch.files.choose import Files, overlay_steps
from veritasest.launch.files.enter import ENTER, enter
from veritasest.launch.files.layer import Layer
from veritasest.spec.enums import FileMode

# Read by the loader of every program, so that the small one which makes the mounts would load the stand-ins.
_FOR_THE_JOB = ("LD_PRELOAD", "LD_AUDIT")
_HINT = "--allow-writes runs the job without one: it then writes its files for real"


def start(
    words: Sequence[str],
    *,
    files: Files,
    layer: Layer | None,
    libraries: Path,
    cwd: Path,
    environment: Mapping[str, str],
    **streams: Any,
) -> subprocess.Popen[bytes]:
    """OSError where the command itself cannot be run, as subprocess.Popen."""
    if layer is None or files.mode is not FileMode.OVERLAY:
        return subprocess.Popen(words, cwd=cwd, env=dict(environment), start_new_session=True, **streams)
    steps = overlay_steps(files, layer)
    if steps is None:
        raise UnsupportedEnvironment("the layer for the job's files could not be planned again", _HINT)
    for name in _FOR_THE_JOB:
        if name in environment:
            steps += ["set", f"{name}={environment[name]}"]
    steps += ["folder", str(cwd), "exec", *words]
    outside = {key: value for key, value in environment.items() if key not in _FOR_THE_JOB}
    child, problem = enter(libraries / ENTER, steps, env=outside, start_new_session=True, **streams)
    if problem is None:
        return child
    step, number = problem
    if step in ("exec", "folder"):
        raise OSError(number, os.strerror(number))
    raise UnsupportedEnvironment(f"no private layer for the job's files ({step}: {os.strerror(number)})", _HINT)
