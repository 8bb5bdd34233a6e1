"""What a user should know about the batches of a run."""

from __future__ import annotations

from typing import Any

import pytest
from traces import trace

from veritasest.analysis.verdict import classify_run
from veritasest.spec.enums import EndReason, Stage
from veritasest.trace import Batches, End, Exit, Process, Segment, StageBegun, Step


def loader(**known: Any) -> Batches:
    return Batches(pid=1, t=0, loader=0, **{"handed_out": 12, "signatures": 7, "varied": True, **known})


def warnings(batches: Batches, *reserved: int) -> tuple[str, ...]:
    """Of a run whose steps had these peaks, and which skipped batches after the fourth."""
    events = [
        Process(pid=1, t=0, torch="2.11.0+cu130"),
        Segment(pid=1, t=0, op="alloc", device=0, bytes=9, address=0, used_bytes=9),
        *(
            Step(pid=1, t=0, step=number, allocated_peak_bytes=0, reserved_peak_bytes=peak)
            for number, peak in enumerate(reserved, start=1)
        ),
        StageBegun(pid=1, t=0, stage=Stage.FORWARD, step=4),
        batches,
        End(pid=1, t=1, reason=EndReason.SETTLED),
        Exit(pid=9, t=9, code=0, reason="exited", elapsed_s=1),
    ]
    return classify_run(trace(*events)).warnings


def test_the_number_of_skipped_batches_is_given() -> None:
    skipped = loader(skipped=388, epoch_batches=400)
    (quiet,) = warnings(skipped, 5, 7, 7, 7, 8)
    assert "7 shapes in 12 batches" in quiet
    assert "the largest of the epoch's 400 batches was run, 388 were skipped" in quiet
    assert "may grow slightly further" in quiet
    (growing,) = warnings(skipped, 5, 6, 7, 8, 9)
    assert "was still growing, and will grow further" in growing


def test_shapes_that_were_still_changing_are_mentioned() -> None:
    (doubt,) = warnings(loader(still_changing=True))
    assert "still changing" in doubt
    assert "--until-exit" in doubt


@pytest.mark.parametrize(
    "known",
    [{"varied": False, "signatures": 1}, {"varied": False, "signatures": 2, "skipped": 300}, {"skipped": 0}],
    ids=["all alike", "a partial last batch", "all were run"],
)
def test_batches_that_leave_no_doubt_are_not_mentioned(known: dict[str, Any]) -> None:
    assert warnings(loader(**known)) == ()
