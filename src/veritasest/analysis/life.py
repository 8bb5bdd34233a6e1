"""What of the job's life a run has seen, and what it has not."""

from __future__ import annotations

from veritasest.spec.estimate import Missed, Observed
from veritasest.trace import End, NotReached, StageBegun, Trace
from veritasest.trace import Observed as ObservedEvent

FORWARD, LEAVING = "forward", "leaving"  # stages of agent/life/pace.py


def observed(trace: Trace) -> Observed:
    """Of the process that did most steps; nothing where no process got to its end."""
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
        to_the_end=all(end.reason == "exit" for end in trace.of(End)),
    )


def not_reached(trace: Trace) -> tuple[Missed, ...]:
    """Each place once: ranks say the same."""
    places = {(event.file, event.line): event for event in reversed(trace.of(NotReached))}
    return tuple(
        Missed(what=event.what, file=event.file, line=event.line)
        for event in sorted(places.values(), key=lambda event: event.t)
    )


def same_course(trace: Trace) -> tuple[int | None, int | None]:
    """The steps after which batches were skipped, and loops left: for a run that is to repeat this one."""
    begun = {event.stage: event.step for event in reversed(trace.of(StageBegun))}
    return begun.get(FORWARD), begun.get(LEAVING)
