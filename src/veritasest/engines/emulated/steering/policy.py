"""What an unknown value is taken for when the program asks.

Unknown numbers are uniform between 0 and 1: finite, positive, small, and different from each other, so that the largest
of them are spread evenly (routing is balanced) and a threshold cuts off its share. A single unknown number is `scalar`;
read again at the same place it has fallen a little, as a loss does, so that who waits for it to stop falling goes on.
The same question gets the same answer: activation checkpointing asks twice, and expects it.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, replace
from typing import Any

from veritasest.spec.enums import Choices
from veritasest.spec.values import ValuePolicy

FALL = 1e-3  # share of an unknown number that is gone when the same line reads it again
# A loop that waits for an unknown number to become small comes to its end.
PATIENCE_READS = 100
PATIENCE_ANSWERS = 10_000  # the same for a loop that waits for a decision, within one optimizer step
# Questions of libraries that numbers between 0 and 1 would answer as nothing in training does, by file and words of the
# line: LBFGS goes downhill, where the derivative is negative, and its line search finds a step.
KNOWN_ANSWERS = {
    ("torch/optim/lbfgs.py", "gtd > -tolerance_change"): False,
    ("torch/optim/lbfgs.py", "abs(gtd_new) <= -c2 * gtd"): True,
}


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """`mask`: share of an unknown mask that is set; None: as the comparison with uniform numbers has it. `finite`:
    whether unknown numbers are; if not, loss scaling skips its steps. `alike`: all rows of unknown data are the same,
    so that whoever chooses by them makes the same choice everywhere."""

    mask: float | None = None
    scalar: float = 0.5
    finite: bool = True
    alike: bool = False

    @classmethod
    def chosen(cls, policy: ValuePolicy) -> Assumptions:
        """The user's choice; what they did not name keeps its default."""
        given = cls(mask=policy.mask, finite=policy.finite)
        return given if policy.scalar is None else replace(given, scalar=policy.scalar)

    def at_bound(self, choices: Choices | None) -> Assumptions:
        """NONE: nothing is chosen; ALL: everything is, and all choose the same."""
        if choices is None:
            return self
        return replace(self, mask=1.0 if choices is Choices.ALL else 0.0, alike=choices is Choices.ALL)


_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}


class Policy:
    def __init__(self, torch: Any, assumptions: Assumptions) -> None:
        self._torch = torch
        self._assumptions = assumptions
        self.generator = torch.Generator(device="cpu")  # ours: the job's own generators stay untouched
        self._reads: dict[Any, int] = {}
        self._answers: dict[Any, int] = {}

    @property
    def density(self) -> float:
        return 0.5 if self._assumptions.mask is None else self._assumptions.mask

    def decides(self, base: str) -> bool:
        """Whether a comparison's outcome is assumed itself, and not what it compares."""
        return self._assumptions.mask is not None and base in _COMPARISONS

    @property
    def finite(self) -> bool:
        return self._assumptions.finite

    def seeded(self, *reasons: Any) -> Any:
        """Our generator, at a state that depends on nothing but the reasons."""
        return self.generator.manual_seed(zlib.crc32(repr(reasons).encode()))

    def data(self, shape: Any, dtype: Any) -> Any:
        """Contents of an unknown tensor."""
        torch = self._torch
        size = tuple(shape)
        if dtype == torch.bool:
            return self.mask(size)
        if not (dtype.is_floating_point or dtype.is_complex):
            return torch.zeros(size, dtype=dtype, device="cpu")
        if torch.Size(size).numel() == 1:
            return torch.full(size, self.scalar(), dtype=dtype, device="cpu")
        drawn = size[-1:] if self._assumptions.alike else size
        numbers = torch.rand(drawn, generator=self.seeded(size), device="cpu").expand(size).contiguous()
        if not self._assumptions.finite:
            numbers.view(-1)[0] = float("inf")
        return numbers.to(dtype)

    def mask(self, shape: Any) -> Any:
        torch = self._torch
        return torch.rand(tuple(shape), generator=self.seeded("mask", tuple(shape)), device="cpu") < self.density

    def indices(self, shape: Any, below: int, dtype: Any) -> Any:
        """Positions along a dimension of `below` elements, evenly spread."""
        torch = self._torch
        generator = self.seeded("indices", tuple(shape), below)
        return torch.randint(max(below, 1), tuple(shape), generator=generator, device="cpu").to(dtype)

    # Below, `place` is the line of the user's code, `asker` the innermost file and line, a library's perhaps.

    def scalar(self) -> float:
        """One unknown number."""
        return self._assumptions.scalar if self._assumptions.finite else float("inf")

    def told(self, value: float, place: Any, asker: tuple[str, str] = ("", "")) -> float:
        """What the line at `place` is told of such a number: each time a little less. After many reads by the same
        `asker`, half each time. Counts, which are whole numbers, stay as they are."""
        reads = self._count(place)
        waiting = max(self._count((place, asker)) - PATIENCE_READS, 0)
        if not math.isfinite(value) or value.is_integer():
            return value
        return value * (1 - FALL) ** (reads - 1) * 0.5 ** min(waiting, 1000)

    def _count(self, reader: Any) -> int:
        self._reads[reader] = self._reads.get(reader, 0) + 1
        return self._reads[reader]

    def decision(self, value: bool, place: Any, asker: tuple[str, str] = ("", "")) -> bool:
        """One unknown decision: what it is, unless the same line has asked for it so often that it must be waiting."""
        for (file, words), known in KNOWN_ANSWERS.items():
            if asker[0].endswith(file) and words in asker[1]:
                return known
        asked = self._answers[place] = self._answers.get(place, 0) + 1
        return value if asked % PATIENCE_ANSWERS else not value

    def on_step(self) -> None:
        self._answers.clear()
