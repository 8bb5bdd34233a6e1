"""The words with a fixed set of values: each is defined here, once, and reads as plain text in JSON."""

from __future__ import annotations

from enum import Enum


class Word(str, Enum):
    """A member is its own text: it compares equal to it, prints as it, and is written to JSON as it."""

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, format_spec: str) -> str:
        return format(self.value, format_spec)


class Verdict(Word):
    FITS = "fits"
    DOES_NOT_FIT = "does_not_fit"
    JOB_FAILED = "job_failed"
    UNSUPPORTED = "unsupported"
    UNDETERMINED = "undetermined"


class Role(Word):
    """What an optimizer uses a tensor for."""

    PARAMETERS = "parameters"
    GRADIENTS = "gradients"
    OPTIMIZER_STATE = "optimizer state"


class Phase(Word):
    """Where in a training step memory was allocated."""

    FORWARD_BACKWARD = "forward_backward"
    OPTIMIZER = "optimizer"


class Stage(Word):
    """How far a run that observes the whole job has come (engines/emulated/agent/life/pace.py)."""

    SETTLING = "settling"
    AS_IT_IS = "as it is"
    FORWARD = "forward"
    LEAVING = "leaving"


class EndReason(Word):
    """Why a process of the job ended: by itself, or because the agent ended it."""

    EXIT = "exit"
    SETTLED = "settled"
    STEPS = "steps"

    @property
    def by_agent(self) -> bool:
        return self is not EndReason.EXIT


class ExitReason(Word):
    """Why the launcher stopped waiting for the job."""

    EXITED = "exited"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"


class AllocatorAction(Word):
    """The letters of a `blocks` record, one per event of PyTorch's allocator history."""

    ALLOC = "a"
    FREE_REQUESTED = "r"
    FREE_COMPLETED = "c"
    SEGMENT_ALLOC = "s"
    SEGMENT_FREE = "f"
    SEGMENT_MAP = "m"
    SEGMENT_UNMAP = "u"
    OOM = "o"
    UNKNOWN = "?"

    @classmethod
    def named(cls, name: str) -> AllocatorAction:
        """By PyTorch's own name of the action ("free_requested")."""
        return cls.__members__.get(name.upper(), cls.UNKNOWN)


class Bound(Word):
    """The end of its range that every guessed size takes in a run."""

    LOW = "low"
    HIGH = "high"


class Choices(Word):
    """What a program selects in a run wherever its choice depends on assumed values."""

    NONE = "none"
    ALL = "all"


class EventTiming(Word):
    """When CUDA events complete: at once, or only when the host has waited for them."""

    AT_ONCE = "at once"
    LATE = "late"


class FileMode(Word):
    """How the user's files are kept as they are; in the last two cases they are not."""

    OVERLAY = "overlay"
    INTERPOSER = "interposer"
    NONE = "none"
    ALLOWED = "allowed"


class Purpose(Word):
    """What a run of a recording is for."""

    CAPACITY = "capacity"
    WITHOUT_SKIPPING = "without skipping"
    UNLIMITED = "unlimited"
    GUESSES_LOW = "guesses low"
    GUESSES_HIGH = "guesses high"
    CHOICES_NONE = "choices none"
    CHOICES_ALL = "choices all"
    LATE_EVENTS = "late events"
    LATE_EVENTS_AT_CAPACITY = "late events at capacity"
    MINIMUM = "minimum"
