"""What an unknown value is assumed to be when the program asks for it.

Unknown numbers are uniform between 0 and 1: finite, positive, small, and different from each other, so that the largest
of them are spread evenly (routing is balanced) and a threshold selects its share. A single unknown number is `scalar`;
read again at the same line it is a little smaller, as a loss would be, so that code that waits for it to stop falling
continues. The same question gets the same answer: activation checkpointing asks twice and expects that.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

from veritasest.engines.emulated.steering.settings import SteeringSettings

DECREASE = 1e-3  # fraction by which an unknown number falls when the same line reads it again
# A loop that waits for an unknown number to become small comes to an end: after this many reads it is halved.
READS_UNTIL_HALVED = 100
READS_UNTIL_FLIPPED = 10_000  # the same for a loop that waits for a decision, within one optimizer step
# Questions of libraries that numbers between 0 and 1 would answer as training never does, by file and words of the
# line: LBFGS goes downhill, where the derivative is negative, and its line search finds a step.
KNOWN_ANSWERS = {
    ("torch/optim/lbfgs.py", "gtd > -tolerance_change"): False,
    ("torch/optim/lbfgs.py", "abs(gtd_new) <= -c2 * gtd"): True,
}
_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}


class AssumptionPolicy:
    def __init__(self, torch: Any, settings: SteeringSettings) -> None:
        self._torch = torch
        self._settings = settings
        self.generator = torch.Generator(device="cpu")  # ours: the job's own generators stay untouched
        self._reads: dict[Any, int] = {}
        self._decisions: dict[Any, int] = {}

    @property
    def mask_fraction(self) -> float:
        fraction = self._settings.assumed_fraction
        return 0.5 if fraction is None else fraction

    def assumes_result_of(self, base: str) -> bool:
        """Whether a comparison's result is assumed itself, instead of what it compares."""
        return self._settings.assumed_fraction is not None and base in _COMPARISONS

    @property
    def finite(self) -> bool:
        return self._settings.finite

    def generator_for(self, *reasons: Any) -> Any:
        """Our generator, in a state that depends on the reasons alone."""
        return self.generator.manual_seed(zlib.crc32(repr(reasons).encode()))

    def data(self, shape: Any, dtype: Any) -> Any:
        """The values of an unknown tensor."""
        torch = self._torch
        size = tuple(shape)
        if dtype == torch.bool:
            return self.mask(size)
        if not (dtype.is_floating_point or dtype.is_complex):
            return torch.zeros(size, dtype=dtype, device="cpu")
        if torch.Size(size).numel() == 1:
            return torch.full(size, self.scalar(), dtype=dtype, device="cpu")
        drawn = size[-1:] if self._settings.rows_alike else size
        numbers = torch.rand(drawn, generator=self.generator_for(size), device="cpu").expand(size).contiguous()
        if not self.finite:
            numbers.view(-1)[0] = float("inf")
        return numbers.to(dtype)

    def mask(self, shape: Any) -> Any:
        size = tuple(shape)
        return self._torch.rand(size, generator=self.generator_for("mask", size), device="cpu") < self.mask_fraction

    def indices(self, shape: Any, below: int, dtype: Any) -> Any:
        """Positions along a dimension of `below` elements, evenly spread."""
        size = tuple(shape)
        generator = self.generator_for("indices", size, below)
        return self._torch.randint(max(below, 1), size, generator=generator, device="cpu").to(dtype)

    def scalar(self) -> float:
        """One unknown number."""
        return self._settings.scalar if self.finite else float("inf")

    # Below, `place` is the line of the user's code, `caller` the innermost file and line, perhaps a library's.

    def scalar_for(self, value: float, place: Any, caller: tuple[str, str] = ("", "")) -> float:
        """What the line at `place` gets for such a number: a little less each time. After many reads by the same
        `caller`, half each time. Counts, which are whole numbers, stay as they are."""
        reads = self._count(place)
        waiting = max(self._count((place, caller)) - READS_UNTIL_HALVED, 0)
        if not math.isfinite(value) or value.is_integer():
            return value
        return value * (1 - DECREASE) ** (reads - 1) * 0.5 ** min(waiting, 1000)

    def _count(self, reader: Any) -> int:
        self._reads[reader] = self._reads.get(reader, 0) + 1
        return self._reads[reader]

    def decision_for(self, value: bool, place: Any, caller: tuple[str, str] = ("", "")) -> bool:
        """One unknown decision: `value`, unless the same line has asked so often that it must be waiting for it."""
        for (file, words), known in KNOWN_ANSWERS.items():
            if caller[0].endswith(file) and words in caller[1]:
                return known
        asked = self._decisions[place] = self._decisions.get(place, 0) + 1
        return value if asked % READS_UNTIL_FLIPPED else not value

    def on_step(self) -> None:
        self._decisions.clear()
