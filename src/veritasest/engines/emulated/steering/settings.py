"""The settings of the run that concern values, in one object."""

from __future__ import annotations

from dataclasses import dataclass

from veritasest.spec.enums import Choices
from veritasest.spec.run import RunSpec


@dataclass(frozen=True, kw_only=True)
class SteeringSettings:
    """What is computed, and what is assumed of the rest.

    - `mode`: "off" nothing is computed; "auto" what controls the program's flow; "real" everything; "real:MODULE"
      everything inside that submodule.
    - `mask`: fraction of an unknown mask that is true; None: whatever comparing uniform numbers gives.
    - `scalar`: a single unknown number. `finite`: whether unknown numbers are finite; if not, loss scaling skips steps.
    - `host_bytes`: host memory that real values may use; zero: unlimited.
    - `choices`: for the bounds of what depends on assumed values. NONE: nothing is selected; ALL: everything is,
      and all rows of unknown data are the same, so that every row makes the same choice.
    - `debug`: an operator that the CPU cannot compute raises instead of leaving its result unknown.
    """

    mode: str = "off"
    mask: float | None = None
    scalar: float = 0.5
    finite: bool = True
    host_bytes: int = 0
    choices: Choices | None = None
    debug: bool = False

    @property
    def computes_all(self) -> bool:
        return self.mode == "real"

    @property
    def submodule(self) -> str:
        """The name of the submodule with real values; empty: there is none."""
        return self.mode.partition(":")[2]

    @property
    def wants_real_values(self) -> bool:
        """Whether the user asked for real values somewhere, so that missing ones are worth a report."""
        return self.mode.startswith("real")

    @property
    def assumed_fraction(self) -> float | None:
        """`mask`, or its bound."""
        return self.mask if self.choices is None else 1.0 if self.choices is Choices.ALL else 0.0

    @property
    def rows_alike(self) -> bool:
        return self.choices is Choices.ALL


def of_run(run: RunSpec, *, debug: bool = False) -> SteeringSettings:
    values = run.values
    return SteeringSettings(
        mode=values.mode,
        mask=values.mask,
        scalar=SteeringSettings.scalar if values.scalar is None else values.scalar,
        finite=values.finite,
        host_bytes=values.host_bytes or 0,
        choices=run.choices,
        debug=debug,
    )
