"""What the job's DataLoaders hand out, and a look ahead for the largest batch and the last.

A job whose batches all look alike is not touched. Where their shapes vary, it is run as it is until many steps brought
no new peak, or for a while: cached memory that is split differently by every shape can be most of what a job reserves.
Then, and where a smaller last batch is known to come, the rest of the epoch is pulled on the host alone: the largest
and the last batch are handed out, then a few others so that the peak can settle again, and the rest is skipped. For the
job, the epoch ends there.

Known limitations: only batches from `torch.utils.data.DataLoader` are seen; a job that leaves its epochs early gets the
largest batch of the whole epoch; shapes that begin to vary after the job was ended are not foreseen.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from veritasest.agent.loaders import Book
from veritasest.agent.lookahead import Kept, Rest, leave_out
from veritasest.agent.shapes import Look, look

MAX_LOADERS = 64  # a job may make a new loader for every step
# An 8-layer encoder with random lengths took a new peak after up to 34 quiet steps in its first 40, then one of 3.6 %
# in 560 more.
QUIET_STEPS_GATHERED = 50
MAX_STEPS_GATHERED = 500
STEPS_AFTER = 2  # steps after the last batch of interest was handed out: loops may fetch one batch ahead
STEPS_OF_PATIENCE = 10  # for a loop that never comes back for the batch of interest


class _Pass:
    """One iterator of a loader, from the first batch to the end of the epoch."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.delivered = self.steps = 0
        self.fresh = False
        self.queue: deque[Kept] = deque()
        self.queued_last: Look | None = None
        self.error: Exception | None = None


class Batches:
    """Wraps the iterators of all loaders in this process. `budget_s` of None: watch only."""

    def __init__(self, *, budget_s: float | None) -> None:
        self.active = True
        self.ahead_from: int | None = None  # the step after which loaders look ahead
        self._begun = math.inf  # when the first optimizer step was done
        self._budget_s = budget_s
        self._lock = threading.Lock()
        self._books: list[Book] = []
        self._book_of: weakref.WeakKeyDictionary[Any, Book] = weakref.WeakKeyDictionary()
        self._passes: weakref.WeakKeyDictionary[Any, _Pass] = weakref.WeakKeyDictionary()

    def install(self, module: Any) -> None:
        """`module`: torch.utils.data.dataloader. Workers have no loader of their own, and forked ones are inactive."""
        base = module._BaseDataLoaderIter
        init, reset, following = base.__init__, base._reset, base.__next__

        @wraps(init)
        def begin(iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
            init(iterator, loader, *args, **kwargs)
            self._begin(iterator, loader)

        @wraps(reset)
        def begin_again(iterator: Any, loader: Any, *args: Any, **kwargs: Any) -> None:  # with persistent workers
            reset(iterator, loader, *args, **kwargs)
            self._begin(iterator, loader)

        @wraps(following)
        def hand_out(iterator: Any) -> Any:
            one_pass = self._passes.get(iterator) if self.active else None
            return following(iterator) if one_pass is None else self._next(following, iterator, one_pass)

        base.__init__, base._reset, base.__next__ = begin, begin_again, hand_out

    def _begin(self, iterator: Any, loader: Any) -> None:
        if not self.active:
            return
        try:
            book = self._book_of.get(loader)
        except TypeError:  # a loader class that cannot be hashed
            return
        if book is None and len(self._books) < MAX_LOADERS:
            book = self._book_of[loader] = Book(len(self._books), iterator)
            self._books.append(book)
        if book is not None:
            self._start_pass(iterator, book)

    def _start_pass(self, iterator: Any, book: Book) -> None:
        with self._lock:  # loops may fetch their batches in a thread
            self._passes[iterator] = _Pass(book)

    def _all_passes(self) -> list[_Pass]:
        with self._lock:
            return list(self._passes.values())

    def _next(self, following: Callable[[Any], Any], iterator: Any, one_pass: _Pass) -> Any:
        book = one_pass.book
        # A loop that makes a new iterator for every batch is never driven through its epoch.
        if self.ahead_from is not None and one_pass.steps >= 2 and book.wants_look and not one_pass.queue:
            self._look_ahead(following, iterator, one_pass)
        if one_pass.queue:
            batch, seen = one_pass.queue.popleft()
            is_last = seen is one_pass.queued_last
            book.to_show = max(0, book.to_show - 1)
        else:
            batch = self._following(following, iterator, one_pass)
            seen = look(batch)
            is_last = one_pass.delivered + 1 == book.length
        one_pass.delivered += 1
        one_pass.fresh = book.fresh = True
        book.note(seen, is_last=is_last)
        return batch

    def _following(self, following: Callable[[Any], Any], iterator: Any, one_pass: _Pass) -> Any:
        if one_pass.error is not None:  # met while looking ahead, told where the job would have met it
            error, one_pass.error = one_pass.error, None
            raise error
        try:
            return following(iterator)
        except StopIteration:
            if one_pass.delivered and one_pass.queued_last is None:
                one_pass.book.complete = one_pass.book.last_seen = True
            self._start_pass(iterator, one_pass.book)
            raise

    def _look_ahead(self, following: Callable[[Any], Any], iterator: Any, one_pass: _Pass) -> None:
        """Pulls the rest of the epoch, and queues what is worth running."""
        book, budget_s = one_pass.book, self._budget_s or 0.0
        others = min(16, 2 * math.ceil(one_pass.delivered / one_pass.steps))
        unfetched = 0 if book.varied else leave_out(iterator, others, budget_s)
        rest = Rest(book, others)
        ended = rest.pull(partial(following, iterator), budget_s)
        one_pass.queue, book.to_show = rest.chosen(ended=ended, all_pulled=not unfetched)
        one_pass.queued_last = rest.last[1] if rest.last and ended else None
        one_pass.error = rest.error
        book.skipped += unfetched + rest.pulled - len(one_pass.queue)
        book.steps_after = 0
        book.last_seen |= ended
        book.complete |= ended and not unfetched
        book.gave_up = not ended

    def on_step(self) -> None:
        """An optimizer step was done."""
        self._begun = min(self._begun, time.monotonic())
        takers: list[_Pass | Book] = [*self._all_passes(), *self._books]  # an iterator made for one batch may be gone
        for counted in takers:
            counted.steps += counted.fresh
            counted.fresh = False
        for book in self._books:
            if book.steps_after is not None and not book.to_show:
                book.steps_after += 1

    def look_ahead(self, step: int) -> None:
        """Loaders may from now on."""
        if self.ahead_from is None:
            self.ahead_from = step

    def keep_going(self, *, step: int, steps_since_new_peak: int, settled: bool) -> bool:
        """Asked after each step: whether the job must go on, `settled` or not, for what its batches may still bring."""
        if self._budget_s is None:
            return False
        if self._is_gathering(step, steps_since_new_peak):
            return True
        if settled or self._varied:
            self.look_ahead(step)
        reachable = {id(one_pass.book) for one_pass in self._all_passes() if one_pass.steps >= 2}
        waiting = [book for book in self._books if self._is_waiting(book, reachable=id(book) in reachable)]
        for book in waiting:
            book.held += settled
        return bool(waiting)

    @property
    def _varied(self) -> bool:
        return any(book.varied and book.steps >= 2 for book in self._books)

    def _is_gathering(self, step: int, steps_since_new_peak: int) -> bool:
        """Every new shape may split cached memory in a new way, so a job of many shapes is run for a while as it is."""
        if self.ahead_from is not None or not self._varied:
            return False
        in_time = step < MAX_STEPS_GATHERED and time.monotonic() - self._begun < (self._budget_s or 0)
        return in_time and steps_since_new_peak < QUIET_STEPS_GATHERED

    def _is_waiting(self, book: Book, *, reachable: bool) -> bool:
        if book.held >= STEPS_OF_PATIENCE:
            return False
        showing = book.steps_after is not None and (book.to_show > 0 or book.steps_after < STEPS_AFTER)
        return showing or (book.wants_look and reachable)

    def records(self, *, ended_by_itself: bool) -> list[dict[str, Any]]:
        """The fields of the trace's `batches` records. A loader that led to no steps (validation) leaves no doubt."""
        return [
            {
                "loader": book.number,
                "handed_out": book.handed_out,
                "signatures": len(book.signatures),
                "skipped": book.skipped,
                "largest_elements": book.elements,
                "largest_seen": book.complete or not book.varied,
                "epoch_batches": book.length,
                "varied": book.varied,
                "still_changing": book.varied and not book.complete and book.steps >= 2 and not ended_by_itself,
                "ahead_from": self.ahead_from if book.steps_after is not None else None,
            }
            for book in self._books
            if book.handed_out
        ]
