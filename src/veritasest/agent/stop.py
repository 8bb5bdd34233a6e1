"""When the job has shown enough."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """Stop after `steps` optimizer steps, the last `quiet` of which brought no new peak. `steps` of None: never.

    `ahead_s`: where batches vary, how long to run them, and how long to look ahead for the largest; None: not at all.
    `ahead_from`: look ahead after this step, as an earlier run did that is to be repeated.
    """

    steps: int | None
    quiet: int = 0
    ahead_s: float | None = None
    ahead_from: int | None = None

    @classmethod
    def parse(cls, text: str) -> StopRule:
        """From VERITASEST_STOP: "until_exit", or fields such as "steps=5" and "steps=3;quiet=2;ahead_s=20"."""
        if text in ("", "until_exit"):
            return cls(steps=None)
        fields = dict(field.split("=", 1) for field in text.split(";"))
        return cls(
            steps=int(fields["steps"]),
            quiet=int(fields.get("quiet", 0)),
            ahead_s=float(fields["ahead_s"]) if "ahead_s" in fields else None,
            ahead_from=int(fields["ahead_from"]) if "ahead_from" in fields else None,
        )

    def reason(self, *, steps: int, steps_since_new_peak: int) -> str | None:
        """Why to stop now ("settled", "steps"); None: go on."""
        if self.steps is None or steps < self.steps or steps_since_new_peak < self.quiet:
            return None
        return "settled" if self.quiet else "steps"
