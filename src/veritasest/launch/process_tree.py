"""Ends a job and everything it started, including processes that left its process group."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

GRACE_S = 3.0


class ProcessTree:
    """The processes of one run: the child's group, and every process that inherited `mark`, a variable of its
    environment.

    The second covers daemons and workers that opened a session of their own. The mark is unique to the run, so
    neither another estimate at the same time nor the caller's own children are ever touched.
    """

    def __init__(self, group: int, mark: str) -> None:
        self._group = group
        self._mark = os.fsencode(mark)

    def end(self, grace_s: float = GRACE_S) -> None:
        """SIGTERM, then after `grace_s` SIGKILL to those still running."""
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while self._marked() and time.monotonic() < deadline:
            time.sleep(0.05)
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        gone = suppress(ProcessLookupError, PermissionError)
        with gone:
            os.killpg(self._group, number)
        for process in self._marked():
            with gone:
                os.kill(process, number)

    def _marked(self) -> list[int]:
        me = os.getpid()
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and int(entry.name) != me and self._is_marked(entry)
        ]

    def _is_marked(self, entry: Path) -> bool:
        try:
            # The environment of a zombie reads as empty, so processes that have ended do not count.
            return self._mark in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            return False
