"""Device memory as the processes of one run share it: a file that native/core/shared.c maps, one slot per process.

It lets processes compete for one device's memory. The engine makes the file, and finds in it which processes have
ended, including those that were killed.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from contextlib import suppress
from pathlib import Path

# native/core/shared.c: struct books and struct slot, with VEST_MAX_DEVICES of 64.
HEADER_BYTES = 64
SLOT_BYTES = 16 + 16 * 64
SLOTS = 1000
_SLOTS_TAKEN = struct.Struct("<8xQ")  # after the lock
_SLOT = struct.Struct("<QQ")  # process id, 0: free; its start in clock ticks since boot

_FIRST_FIELD_AFTER_NAME = 3  # of /proc/PID/stat, counted as proc(5) does
_STATE, _THREADS, _START = (number - _FIRST_FIELD_AFTER_NAME for number in (3, 20, 22))


class SharedAccounting:
    """A new file, deleted on exit. Sparse: it takes as much of the disk as there are processes."""

    def __init__(self) -> None:
        descriptor, name = tempfile.mkstemp(prefix="veritasest-", suffix=".books")
        try:
            os.ftruncate(descriptor, HEADER_BYTES + SLOTS * SLOT_BYTES)
            self._map = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(descriptor)
        self.path = Path(name)
        self._ended: set[tuple[int, int]] = set()

    def ended(self) -> list[int]:
        """The processes found to have ended since the last call."""
        fresh = [slot for slot in self._slots() if slot not in self._ended and not _lives(*slot)]
        self._ended.update(fresh)
        return [process for process, _ in fresh]

    def processes(self) -> list[int]:
        return [process for process, _ in self._slots()]

    def _slots(self) -> list[tuple[int, int]]:
        (taken,) = _SLOTS_TAKEN.unpack_from(self._map)
        slots = [_SLOT.unpack_from(self._map, HEADER_BYTES + index * SLOT_BYTES) for index in range(min(taken, SLOTS))]
        return [(process, started) for process, started in slots if process]

    def __enter__(self) -> SharedAccounting:
        return self

    def __exit__(self, *_: object) -> None:
        self._map.close()
        with suppress(FileNotFoundError):
            self.path.unlink()


def _lives(process: int, started: int) -> bool:
    """A zombie no longer holds device memory, unless only its first thread has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    except OSError:
        return True
    if fields[_STATE] in "ZXx" and int(fields[_THREADS]) <= 1:
        return False
    return not started or int(fields[_START]) == started
