"""Statistics of one DataLoader: its own properties, and the batches it has returned."""

from __future__ import annotations

from collections import deque
from typing import Any

from veritasest.engines.emulated.agent.lookahead import MAP_STYLE, KeptBatch
from veritasest.engines.emulated.agent.shapes import BatchShape

MAX_SIGNATURES = 10_000
BATCHES_OF_EVALUATION = 3  # before an epoch without a backward pass is cut

Level = tuple[int, int, int]  # bytes allocated now, the peak of that, and the peak reserved


class LoaderStats:
    """KeptBatch for as long as the process lives, so it holds neither the loader nor any batch."""

    def __init__(self, number: int, iterator: Any) -> None:
        self.number = number
        self.length, self.ends_partial = _length(iterator), _ends_partial(iterator)
        self.handed_out = self.skipped = self.elements = self.quadratic_elements = 0
        self.signatures: set[int] = set()
        self.varied = self.on_gpu = False
        self.complete = False  # an epoch was seen whole
        self.gave_up = False  # the epoch is longer than the budget
        self.fresh = False  # handed out a batch since the last optimizer step
        self.steps = 0  # optimizer steps that batches of this loader led to
        self.to_show = 0  # batches of interest not yet handed out
        self.steps_after: int | None = None  # since the last of them was
        self.held = 0
        self.evaluated = 0  # batches handed out in epochs without a backward pass
        self.is_endless = False  # its sampler does not end, or cannot be told to leave anything out

    def note(self, seen: BatchShape, *, is_last: bool) -> None:
        """A batch is being handed out. One smaller batch at the end of an epoch is no variation."""
        new = bool(self.signatures) and seen.signature not in self.signatures
        self.varied |= new and not (self.ends_partial and is_last)
        if len(self.signatures) < MAX_SIGNATURES:
            self.signatures.add(seen.signature)
        self.handed_out += 1
        self.elements = max(self.elements, seen.elements)
        self.quadratic_elements = max(self.quadratic_elements, seen.quadratic_elements)
        self.on_gpu |= seen.on_gpu


class LoaderPass:
    """One iterator of a loader, from the first batch to the end of the epoch."""

    def __init__(self, stats: LoaderStats) -> None:
        self.stats = stats
        self.delivered = self.steps = self.backwards = 0
        self.fresh = False
        self.is_cut = False
        self.left: int | None = None  # batches still to be given, where the loader itself cannot be told to end
        self.queue: deque[KeptBatch] = deque()
        self.queued_last: BatchShape | None = None
        self.left_out = 0
        self.unannounced = 0  # of those, how many `enumerate` does not count yet
        self.error: Exception | None = None
        self.levels: deque[Level] = deque(maxlen=BATCHES_OF_EVALUATION)

    @property
    def trains(self) -> bool:
        return bool(self.steps or self.backwards)


def _length(iterator: Any) -> int | None:
    """Batches in an epoch. Asked of the sampler: asking a loader of an IterableDataset changes its state."""
    return _len(iterator._index_sampler) if iterator._dataset_kind == MAP_STYLE else None


def _ends_partial(iterator: Any) -> bool:
    """Whether the last batch is known to be smaller than the others."""
    batches = iterator._index_sampler
    size, samples = getattr(batches, "batch_size", None), _len(getattr(batches, "sampler", None))
    if iterator._dataset_kind != MAP_STYLE or getattr(batches, "drop_last", True):
        return False
    return isinstance(size, int) and samples is not None and samples > size > 0 and samples % size != 0


def _len(samples: Any) -> int | None:
    try:
        return len(samples)
    except Exception:  # a sampler of the user's own, which may have no length
        return None
