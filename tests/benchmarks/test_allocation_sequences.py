"""Recorded and estimated allocations of a job, side by side."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from benchmarks.estimate import allocation_sequences
from benchmarks.job_lists import Job

RECORDED = {
    "actions": ["segment_alloc", "alloc", "segment_alloc", "alloc", "free_requested", "alloc"],
    "sizes": [20, 8, 40, 30, 8, 6],
    "stacks": {"0": ["a.py:1 f"], "2": ["b.py:2 g"]},
}


@pytest.mark.parametrize(
    ("actions", "sizes", "said"),
    [
        ("sasara", [20, 8, 40, 30, 8, 6], ["allocations: 3 on the GPU, 3 estimated; all equal"]),
        (
            "saara",
            [20, 8, 30, 8, 6],
            ["allocations: 3 on the GPU, 3 estimated; all equal", "segments: 2 on the GPU, 1 estimated", "b.py:2 g"],
        ),
        ("sasara", [20, 8, 40, 31, 8, 6], ["3 estimated; the first to differ is number 1", "GPU 3 a 30"]),
        ("sasa", [20, 8, 40, 30], ["3 on the GPU, 2 estimated; the first to differ is number 2"]),
    ],
)
def test_first_event_that_differs_is_shown(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    actions: str,
    sizes: list[int],
    said: list[str],
) -> None:
    path = tmp_path / "job.gz"
    with gzip.open(path, "wt") as file:
        json.dump(RECORDED, file)
    monkeypatch.setattr(allocation_sequences, "estimated", lambda _job: (actions, sizes))
    allocation_sequences.compare(Job("job.py", "any"), path)
    printed = capsys.readouterr().out
    assert all(words in printed for words in said)
