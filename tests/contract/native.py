"""Runs a few lines of Python with the built libveritasest.so loaded, in a separate process with its own settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prerequisites import native_core

LOAD = "import ctypes, json, sys\ncore = ctypes.CDLL(sys.argv[1])\n"


def run_native(code: str, settings: Mapping[str, Any] | None, folder: Path) -> str:
    """What `code` prints; `core` is the library. `settings` are the section `native`; None: there is no document."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VERITASEST_")}
    if settings is not None:
        document = folder / "run.json"
        text = json.dumps({"native": settings, "job": {"command": ["python"]}}, ensure_ascii=False)
        document.write_text(text, encoding="utf-8", errors="surrogateescape")
        environment["VERITASEST_RUN"] = str(document)
    command = [sys.executable, "-c", LOAD + code, str(native_core())]
    done = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True, errors="surrogateescape"
    )
    assert done.stderr == ""
    return done.stdout
