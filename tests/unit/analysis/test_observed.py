"""Which phases of the job a run observed, and which it did not reach."""

from __future__ import annotations

from traces import trace

from veritasest.analysis.life import not_reached, observed, same_course
from veritasest.spec.enums import EndReason, Stage
from veritasest.trace import End, NotReached, Observed, Process, StageBegun


def test_a_run_is_repeated_from_the_steps_after_which_batches_were_skipped_and_loops_left() -> None:
    begun = [
        StageBegun(pid=1, t=0, stage=stage, step=step) for stage, step in ((Stage.AS_IT_IS, 3), (Stage.FORWARD, 40))
    ]
    assert same_course(trace(*begun)) == (40, None)
    assert same_course(trace(*begun, StageBegun(pid=1, t=0, stage=Stage.LEAVING, step=90))) == (40, 90)
    assert same_course(trace(Process(torch="2.11.0"))) == (None, None)


def test_what_was_observed_is_that_of_the_process_that_did_most() -> None:
    rank, helper = (
        Observed(pid=pid, t=0, steps=steps, evaluation_batches=seen, checkpoints=steps // 50)
        for pid, steps, seen in ((1, 50, 7), (2, 3, 9))
    )
    found = observed(trace(rank, helper, End(pid=1, t=1, reason=EndReason.EXIT)))
    assert (found.training_steps, found.evaluation_batches, found.checkpoints) == (50, 9, 1)
    assert (found.to_the_end, found.fast_forwarded) == (True, False)


def test_each_place_that_was_not_reached_is_named_once() -> None:
    events = [NotReached(pid=pid, t=pid, what="test()", file="train.py", line=9) for pid in (1, 2)]
    (missed,) = not_reached(trace(*events))
    assert (missed.what, missed.file, missed.line) == ("test()", "train.py", 9)
