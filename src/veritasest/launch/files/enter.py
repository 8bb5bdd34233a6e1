"""Runs the program that makes the mounts and then becomes the job (native/files/enter.c)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ENTER = "veritasest-enter"


def enter(
    program: Path, steps: Sequence[str], **options: Any
) -> tuple[subprocess.Popen[bytes], tuple[str, int] | None]:
    """The started process, and the step that failed with its errno, if one did. Returns once the command runs."""
    reading, writing = os.pipe()
    with open(reading, "rb") as status:
        try:
            child = subprocess.Popen([program, str(writing), *steps], pass_fds=(writing,), **options)
        finally:
            os.close(writing)
        message = status.read().decode()
    if not message:
        return child, None
    child.wait()
    step, _, number = message.rpartition(" ")
    return child, (step, int(number))
