"""Which phases of the job a run observed, and which it did not reach."""

from __future__ import annotations

from veritasest.spec.enums import Stage
from veritasest.spec.estimate import Missed, Observed
from veritasest.trace import End, NotReached, StageBegun, Trace
from veritasest.trace import Observed as ObservedEvent


def observed(trace: Trace) -> Observed:
    """Of the process with most steps; nothing if no process reached its end."""
    events = trace.of(ObservedEvent)
    most = max(events, key=lambda event: event.steps, default=None)
    if most is None:
        return Observed()
    return Observed(
        training_steps=most.steps,
        evaluation_batches=max(event.evaluation_batches for event in events),
        evaluations=max(event.evaluations for event in events),
        checkpoints=max(event.checkpoints for event in events),
        captures=max(event.captures for event in events),
        updates_by_hand=most.by_hand and most.steps > 0,
        fast_forwarded=same_course(trace)[0] is not None,
        to_the_end=not any(end.reason.by_agent for end in trace.of(End)),
    )


def not_reached(trace: Trace) -> tuple[Missed, ...]:
    """Each place once: all ranks have the same."""
    places = {(event.file, event.line): event for event in reversed(trace.of(NotReached))}
    return tuple(
        Missed(what=event.what, file=event.file, line=event.line)
        for event in sorted(places.values(), key=lambda event: event.t)
    )


def same_course(trace: Trace) -> tuple[int | None, int | None]:
    """The steps after which batches were skipped, and loops left: for a run that is to repeat this one."""
    begun = {event.stage: event.step for event in reversed(trace.of(StageBegun))}
    return begun.get(Stage.FORWARD), begun.get(Stage.LEAVING)
