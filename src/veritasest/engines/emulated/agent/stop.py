"""When the job has shown enough."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """`quiet` above zero: the default, the job's whole life (`life/pace.py`), which begins once `steps` optimizer steps
    are done and the last `quiet` of them brought no new peak. Else: stop after `steps` of them, None for never.

    `budget_s`: the seconds for that, None for a choice of our own. `forward_from`, `leave_from`: the steps after which
    a run that is to be repeated began to skip batches, and to leave its loops.
    """

    steps: int | None
    quiet: int = 0
    budget_s: float | None = None
    forward_from: int | None = None
    leave_from: int | None = None

    @property
    def moves_on(self) -> bool:
        """Whether the job may be moved on to later parts of its life."""
        return bool(self.quiet) or self.forward_from is not None

    @classmethod
    def parse(cls, text: str) -> StopRule:
        """From VERITASEST_STOP: "until_exit", or fields such as "steps=5" and "steps=3;quiet=2;budget_s=10"."""
        if text in ("", "until_exit"):
            return cls(steps=None)
        fields = dict(field.split("=", 1) for field in text.split(";"))
        steps, forward, leave = (
            int(fields[name]) if name in fields else None for name in ("steps", "forward_from", "leave_from")
        )
        return cls(
            steps=steps,
            quiet=int(fields.get("quiet", 0)),
            budget_s=float(fields["budget_s"]) if "budget_s" in fields else None,
            forward_from=forward,
            leave_from=leave,
        )
