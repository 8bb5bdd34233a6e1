"""When the job has shown enough."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """Stop after `steps` optimizer steps, the last `quiet` of which brought no new peak. `steps` of None: never."""

    steps: int | None
    quiet: int = 0

    @classmethod
    def parse(cls, text: str) -> StopRule:
        """From VERITASEST_STOP: "until_exit", "steps=5", or "steps=3;quiet=2"."""
        if text in ("", "until_exit"):
            return cls(steps=None)
        fields = dict(field.split("=", 1) for field in text.split(";"))
        return cls(steps=int(fields["steps"]), quiet=int(fields.get("quiet", 0)))

    def reason(self, *, steps: int, steps_since_new_peak: int) -> str | None:
        """Why to stop now ("settled", "steps"); None: go on."""
        if self.steps is None or steps < self.steps or steps_since_new_peak < self.quiet:
            return None
        return "settled" if self.quiet else "steps"
