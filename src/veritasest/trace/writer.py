"""Appends records to a trace. Also used inside the user's process: standard library only, and small."""

from __future__ import annotations

import json
import os
import time
from typing import Any


class TraceWriter:
    """Writes whole lines, each by one write(), so that several processes can share the file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def header(self, **fields: Any) -> None:
        self._line({"kind": "header", **fields})

    def write(self, kind: str, **fields: Any) -> None:
        # The process id is asked for each time: a forked child writes through the same object.
        self._line({"kind": kind, "pid": os.getpid(), "t": time.monotonic(), **fields})

    def end_torn_line(self) -> None:
        """So that the next record is a line of its own, whatever a killed process left at the end. Readers skip empty
        lines."""
        os.write(self._descriptor, b"\n")

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _line(self, record: dict[str, Any]) -> None:
        os.write(self._descriptor, json.dumps(record, separators=(",", ":")).encode() + b"\n")

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
