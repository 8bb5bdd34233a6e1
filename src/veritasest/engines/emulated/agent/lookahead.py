"""The rest of an epoch, pulled through the host to find the batches worth running."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Protocol

from veritasest.engines.emulated.agent.shapes import BatchShape, describe_batch

MAX_BATCHES = 5_000
TALK_AFTER_S = 2.0
MAP_STYLE = 0  # torch.utils.data.dataloader._DatasetKind.Map

KeptBatch = tuple[Any, BatchShape]


class Known(Protocol):
    """What the job has run so far."""

    elements: int
    quadratic_elements: int
    signatures: set[int]


class EpochScan:
    """Of all batches pulled, few are kept: those larger than any run so far, the last, and the first `others`."""

    def __init__(self, known: Known, others: int) -> None:
        self._known = known
        self._others = others
        self._first: dict[int, KeptBatch] = {}
        self._largest: dict[str, tuple[int, KeptBatch]] = {}
        self.last: KeptBatch | None = None
        self.pulled = 0
        self.error: Exception | None = None

    def pull(self, following: Callable[[], Any], budget_s: float) -> bool:
        """Whether the end of the epoch was reached within the budget; an error of the job's own ends it, too."""
        begun, told = time.monotonic(), False
        while self.pulled < MAX_BATCHES and (elapsed := time.monotonic() - begun) < budget_s:
            if elapsed > TALK_AFTER_S and not told:
                sys.stderr.write(f"veritasest: looking for the largest batch of the epoch (at most {budget_s:.0f} s)\n")
                told = True
            try:
                batch = following()
            except StopIteration:
                return True
            except Exception as error:  # the caller raises it where the job would have met it
                self.error = error
                return True
            self._keep(batch, describe_batch(batch))
        return False

    def _keep(self, batch: Any, seen: BatchShape) -> None:
        self.last = (batch, seen)
        if self.pulled < self._others:
            self._first[self.pulled] = self.last
        for measure in ("elements", "quadratic_elements"):
            known = self._largest[measure][1][1] if measure in self._largest else self._known
            if getattr(seen, measure) > getattr(known, measure):
                self._largest[measure] = (self.pulled, self.last)
        self.pulled += 1

    def chosen(self, *, ended: bool, all_pulled: bool) -> tuple[deque[KeptBatch], int]:
        """What to hand out, in this order, and how many of them until the last batch of interest is out."""
        interest = dict(sorted(self._largest.values(), key=lambda found: found[0]))
        signatures = self._known.signatures | {seen.signature for _, seen in interest.values()}
        if ended and self.last is not None and self.last[1].signature not in signatures:
            interest[self.pulled - 1] = self.last
        ordered = {**interest, **{index: kept for index, kept in self._first.items() if index not in interest}}
        if all_pulled and len(ordered) == self.pulled:  # nothing to skip: the job's own order
            ordered = dict(sorted(ordered.items()))
        until = max((at + 1 for at, index in enumerate(ordered) if index in interest), default=0)
        return deque(ordered.values()), until


def skip_indices(iterator: Any, others: int, budget_s: float) -> int | None:
    """Takes index lists out of a map-style loader's sampler, all but the next few and the last, so that their data is
    never fetched. How many were taken; None where there are none to take or they do not end within the budget."""
    if iterator._dataset_kind != MAP_STYLE:
        return None
    deadline = time.monotonic() + budget_s
    indices: Iterator[Any] = iterator._sampler_iter
    taken = []
    for index in indices:
        taken.append(index)
        if time.monotonic() > deadline:
            iterator._sampler_iter = chain(taken, indices)
            return None
    kept = [*taken[:others], *taken[others:][-1:]]
    iterator._sampler_iter = iter(kept)
    return len(taken) - len(kept)
