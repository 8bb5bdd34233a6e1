"""The line that is redrawn while the job runs."""

from __future__ import annotations

import io

import pytest

from veritasest.report import live
from veritasest.report.live import LiveLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


FACTS = {"step": 3, "used_bytes": 1 << 20, "peak_bytes": 2 << 20, "elapsed_s": 4.2}


def test_a_terminal_shows_one_line_in_place() -> None:
    stream = Terminal()
    line = LiveLine(stream)
    line.show(**FACTS, further="observing")
    shown = stream.getvalue()
    assert "step 3 · now 1.00 MiB · peak 2.00 MiB · 4 s · observing" in shown
    assert shown.endswith("\r")
    line.clear()
    assert stream.getvalue().endswith("\x1b[2K")


def test_nothing_is_drawn_into_a_file() -> None:
    stream = io.StringIO()
    line = LiveLine(stream)
    line.show(**FACTS)
    line.clear()
    assert stream.getvalue() == ""


def test_it_is_redrawn_a_few_times_a_second_only(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([100.0, 100.1, 100.3])
    monkeypatch.setattr(live.time, "monotonic", lambda: next(times))
    stream = Terminal()
    line = LiveLine(stream)
    for step in (1, 2, 3):
        line.show(**{**FACTS, "step": step})
    assert ["step 1" in stream.getvalue(), "step 2" in stream.getvalue(), "step 3" in stream.getvalue()] == [
        True,
        False,
        True,
    ]
