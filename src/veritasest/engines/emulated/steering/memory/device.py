"""The emulated device's side of values (native/core/content.c): which of its memory the host backs, and what it reads.

`answer_reads(True, n)` makes the calling thread's reads of up to 8 bytes from device memory give `n`, until it is
called with False. `drop_copies(True)` makes the calling thread's copies to the device leave zeros, until called with
False. Both are per thread, and invisible to the PyTorch code that runs in between.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

_MOVED = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)


class Device:
    def __init__(self) -> None:
        library = ctypes.CDLL(None)  # preloaded, so among the process's own symbols
        self.claim = library.vest_claim
        self.claim.argtypes, self.claim.restype = [ctypes.c_void_p, ctypes.c_size_t], ctypes.c_bool
        self.answer_reads = library.vest_answer_reads
        self.answer_reads.argtypes, self.answer_reads.restype = [ctypes.c_bool, ctypes.c_int64], None
        self.drop_copies = library.vest_drop_copies
        self.drop_copies.argtypes, self.drop_copies.restype = [ctypes.c_bool], None
        self.limit = library.vest_content_limit
        self.limit.argtypes, self.limit.restype = [ctypes.c_uint64], None
        self._fill = library.vest_fill
        self._fill.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t]
        self._fill.restype = None
        self._watch_moves = library.vest_watch_moves

    def watch_moves(self, moved: Callable[[int, int, int], None]) -> None:
        """`moved(to, source, size)` is called for copies that collectives make."""
        self._moved = _MOVED(moved)  # kept alive: the device calls it
        self._watch_moves(self._moved)

    def stop(self) -> None:
        """Call before Python ends."""
        self._watch_moves(None)

    def clear(self, address: int, size: int) -> None:
        """Zeros, for which the host needs no memory."""
        self._fill(address, b"\0", 1, size)
