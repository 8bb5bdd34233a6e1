"""One line on the terminal while the job runs."""

from __future__ import annotations

import time
from typing import TextIO

from veritasest.units import format_bytes

REDRAW_S = 0.2


class LiveLine:
    """Redraws in place, and only on a terminal. The cursor is left at the start of the line: what the job prints there
    itself wins."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._on = stream.isatty()
        self._drawn = 0.0

    def show(self, *, step: int, used_bytes: int, peak_bytes: int, elapsed_s: float, further: str = "") -> None:
        """`further`: what is done now that the peak has settled."""
        now = time.monotonic()
        if not self._on or now - self._drawn < REDRAW_S:
            return
        self._drawn = now
        text = f"step {step} · now {format_bytes(used_bytes)} · peak {format_bytes(peak_bytes)} · {elapsed_s:.0f} s"
        if further:
            text += f" · {further}"
        self._stream.write(f"\x1b[2K\x1b[2m{text}\x1b[0m\r")
        self._stream.flush()

    def clear(self) -> None:
        if self._on and self._drawn:
            self._stream.write("\x1b[2K")
            self._stream.flush()
