"""What a live display shows of a running job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from veritasest.spec.enums import Stage
from veritasest.trace import Segment, StageBegun, Step, Tail


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Bytes are those of the fullest process. Once the peak has settled, `budget_s` may be spent on the rest of the
    job's life, since `settled_at_s`."""

    step: int = 0
    used_bytes: int = 0
    peak_bytes: int = 0
    elapsed_s: float = 0.0
    stage: Stage | None = None
    budget_s: float | None = None
    settled_at_s: float | None = None


class ProgressReader:
    """Follows the trace of a run."""

    def __init__(self, trace_path: Path) -> None:
        self._tail = Tail(trace_path)
        self._progress = Progress()

    def read(self, elapsed_s: float) -> Progress:
        progress = replace(self._progress, elapsed_s=elapsed_s)
        for event in self._tail.poll():
            if isinstance(event, Segment):
                peak = max(progress.peak_bytes, event.used_bytes)
                progress = replace(progress, used_bytes=event.used_bytes, peak_bytes=peak)
            elif isinstance(event, Step):
                progress = replace(progress, step=max(progress.step, event.step))
            elif isinstance(event, StageBegun):
                since = elapsed_s if progress.settled_at_s is None else progress.settled_at_s
                progress = replace(progress, stage=event.stage, budget_s=event.budget_s, settled_at_s=since)
        self._progress = progress
        return progress

    def close(self) -> None:
        self._tail.close()
