"""Reads of assumed values are recorded once per line, and repeated counts of a backward pass not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from veritasest.engines.emulated.agent import frames
from veritasest.engines.emulated.steering.assumed import reads as module
from veritasest.engines.emulated.steering.assumed.reads import AssumedReads
from veritasest.engines.emulated.steering.report import SteeringReport
from veritasest.trace.writer import TraceWriter

MASK = torch.ones(8, dtype=torch.bool)
Recorded = Callable[[], list[dict[str, Any]]]


class Pass:
    """Whether a backward pass runs, and whether autograd's C++ is what calls."""

    def __init__(self) -> None:
        self.is_backward = False
        self.caller = ("train.py", "")


@pytest.fixture
def phase(monkeypatch: pytest.MonkeyPatch) -> Pass:
    found = Pass()
    monkeypatch.setattr(frames, "innermost", lambda: found.caller)
    return found


@pytest.fixture
def trace(tmp_path: Path) -> TraceWriter:
    return TraceWriter(tmp_path / "trace")


@pytest.fixture
def reads(phase: Pass, trace: TraceWriter) -> AssumedReads:
    return AssumedReads(SteeringReport(trace), lambda: phase.is_backward)


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return lambda: [json.loads(line) for line in (tmp_path / "trace").read_text().splitlines()]


def test_a_line_is_recorded_once_and_its_reads_at_the_end(reads: AssumedReads, recorded: Recorded) -> None:
    for _ in range(3):
        reads.number("item", MASK, 0.5)
    assert [record.get("reads", 1) for record in recorded()] == [1]
    reads.finish()
    assert [(record["how"], record.get("reads", 1)) for record in recorded()] == [("number", 1), ("number", 3)]


@pytest.mark.parametrize("caller", [("", ""), ("/x/torch/autograd/graph.py", "")])
def test_a_size_that_autograd_counts_again_is_not_recorded(
    reads: AssumedReads, phase: Pass, recorded: Recorded, caller: tuple[str, str]
) -> None:
    reads.size("nonzero", MASK, 4)
    phase.is_backward, phase.caller = True, caller
    reads.size("nonzero", MASK, 4)
    assert [record["value"] for record in recorded()] == [4]


def test_a_size_first_counted_in_the_backward_pass_is_recorded(
    reads: AssumedReads, phase: Pass, recorded: Recorded
) -> None:
    reads.size("nonzero", MASK, 4)
    phase.is_backward, phase.caller = True, ("", "")
    reads.size("nonzero", MASK, 5)
    assert [record["value"] for record in recorded()] == [4, 5]


def test_python_code_of_the_backward_pass_has_lines_of_its_own(
    reads: AssumedReads, phase: Pass, recorded: Recorded
) -> None:
    reads.size("nonzero", MASK, 4)
    phase.is_backward = True
    reads.size("nonzero", MASK, 4)
    assert len({record["line"] for record in recorded()}) == 2


def test_only_the_latest_sizes_are_kept(
    reads: AssumedReads, phase: Pass, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_SIZES", 2)
    for count in (1, 2, 3):
        reads.size("nonzero", MASK, count)
    phase.is_backward, phase.caller = True, ("", "")
    before = len(recorded())
    reads.size("nonzero", MASK, 3)
    assert len(recorded()) == before
    reads.size("nonzero", MASK, 1)
    assert len(recorded()) == before + 1
