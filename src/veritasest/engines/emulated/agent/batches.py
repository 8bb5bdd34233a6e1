"""The batches of the job's DataLoaders, and epochs cut down to the batches worth running.

Nothing is touched while the job runs as it is. Where shapes vary, it runs as it is for longer (`is_gathering`): cached
memory that is split differently by every shape can be most of what a job reserves. Once `forward_from` is set, an epoch
that has shown no new peak for some batches is cut: of a loader whose batches all look alike, the next few and the last
are left; where shapes vary, the rest of the epoch is pulled on the host alone and the largest and the last batch are
handed out, then a few others so that the peak can settle again. For the job, the epoch ends there. Loaders that lead to
no backward pass (validation) are cut the same way, but only while the memory held does not grow from batch to batch:
outputs that are collected on the GPU must all be seen.

Known limitations: only batches from `torch.utils.data.DataLoader` are seen; a job that leaves its epochs early gets the
largest batch of the whole epoch; shapes that begin to vary after the job was ended are not foreseen.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from veritasest.engines.emulated.agent.guard import guarded, reraise, theirs
from veritasest.engines.emulated.agent.loaders import BATCHES_OF_EVALUATION, Level, LoaderPass, LoaderStats
from veritasest.engines.emulated.agent.lookahead import EpochScan, skip_indices
from veritasest.engines.emulated.agent.shapes import describe_batch
from veritasest.trace import events

MAX_LOADERS = 64  # a job may make a new loader for every step
# An 8-layer encoder with random lengths took a new peak after up to 34 quiet steps in its first 40, then one of 3.6 %
# in 560 more.
QUIET_STEPS_GATHERED = 50
MAX_STEPS_GATHERED = 500
MAX_S_GATHERED = 20.0
PULL_S = 20.0  # for the rest of an epoch whose shapes vary
SAMPLER_S = 2.0  # for the indices of an epoch
GROWTH = 0.002  # of the memory held, over a whole epoch, that may be missed
STEPS_AFTER = 2  # steps after the last batch of interest was handed out: loops may fetch one batch ahead
STEPS_OF_PATIENCE = 10  # for a loop that never comes back for the batch of interest


class Batches:
    """Wraps the iterators of all loaders in this process.

    `level` reads the memory of the GPU; `on_batch` is called before a batch is handed out.
    """

    def __init__(
        self, *, level: Callable[[], Level] = lambda: (0, 0, 0), on_batch: Callable[[], None] = lambda: None
    ) -> None:
        self.active = True
        self.forward_from: int | None = None  # the step after which epochs are cut
        self._begun = math.inf  # when the first optimizer step was done
        self._quiet = False
        self._level = level
        self._on_batch = on_batch
        self._lock = threading.Lock()
        self._all_stats: list[LoaderStats] = []
        self._stats_of: weakref.WeakKeyDictionary[Any, LoaderStats] = weakref.WeakKeyDictionary()
        self._passes: weakref.WeakKeyDictionary[Any, LoaderPass] = weakref.WeakKeyDictionary()

    def install(self, module: Any) -> None:
        """`module`: torch.utils.data.dataloader. Workers have no loader of their own, and forked ones are inactive."""
        base = module._BaseDataLoaderIter
        init, reset, following = base.__init__, base._reset, theirs(base.__next__)

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

    @guarded("watching a DataLoader")
    def _begin(self, iterator: Any, loader: Any) -> None:
        if not self.active:
            return
        try:
            stats = self._stats_of.get(loader)
        except TypeError:  # a loader class that cannot be hashed
            return
        if stats is None and len(self._all_stats) < MAX_LOADERS:
            stats = self._stats_of[loader] = LoaderStats(len(self._all_stats), iterator)
            self._all_stats.append(stats)
        if stats is not None:
            self._start_pass(iterator, stats)

    def _start_pass(self, iterator: Any, stats: LoaderStats) -> None:
        with self._lock:  # loops may fetch their batches in a thread
            self._passes[iterator] = LoaderPass(stats)

    def _all_passes(self) -> list[LoaderPass]:
        with self._lock:
            return list(self._passes.values())

    @guarded("a DataLoader's batches", instead=lambda _self, following, iterator, _pass: following(iterator))
    def _next(self, following: Callable[[Any], Any], iterator: Any, one_pass: LoaderPass) -> Any:
        stats = one_pass.stats
        self._on_batch()
        if self._may_cut(one_pass):
            self._cut(following, iterator, one_pass)
        if one_pass.queue:
            batch, seen = one_pass.queue.popleft()
            is_last = seen is one_pass.queued_last
            stats.to_show = max(0, stats.to_show - 1)
        else:
            batch = self._following(following, iterator, one_pass)
            seen = describe_batch(batch)
            is_last = one_pass.delivered + one_pass.left_out + 1 == stats.length
        one_pass.delivered += 1
        one_pass.fresh = stats.fresh = True
        stats.note(seen, is_last=is_last)
        return batch

    def _following(self, following: Callable[[Any], Any], iterator: Any, one_pass: LoaderPass) -> Any:
        if one_pass.error is not None:  # met while looking ahead, raised where the job would have met it
            error, one_pass.error = one_pass.error, None
            reraise(error)
        try:
            if one_pass.left is not None:
                one_pass.left -= 1
                if one_pass.left < 0:
                    reraise(StopIteration())
            return following(iterator)
        except StopIteration:
            if one_pass.delivered and not one_pass.is_cut:
                one_pass.stats.complete = True
            self._end_pass(one_pass)
            self._start_pass(iterator, one_pass.stats)
            raise

    def _end_pass(self, one_pass: LoaderPass) -> None:
        if not one_pass.trains:
            one_pass.stats.evaluated += one_pass.delivered
        one_pass.delivered = 0

    def _may_cut(self, one_pass: LoaderPass) -> bool:
        if self.forward_from is None or one_pass.is_cut or one_pass.queue:
            return False
        if one_pass.trains:
            # A loop that makes a new iterator for every batch is never driven through its epoch.
            return self._quiet and one_pass.steps >= 2
        return self._is_quiet_evaluation(one_pass)

    def _is_quiet_evaluation(self, one_pass: LoaderPass) -> bool:
        """Whether the last batches brought no new peak, and what is held from batch to batch would not add up."""
        one_pass.levels.append(self._level())
        if len(one_pass.levels) < BATCHES_OF_EVALUATION or one_pass.delivered < BATCHES_OF_EVALUATION:
            return False
        first, last = one_pass.levels[0], one_pass.levels[-1]
        growth = (last[0] - first[0]) / (BATCHES_OF_EVALUATION - 1)
        to_come = (one_pass.stats.length or 10_000) - one_pass.delivered
        return last[1:] == first[1:] and growth * to_come <= GROWTH * max(last[2], 1)

    def _cut(self, following: Callable[[Any], Any], iterator: Any, one_pass: LoaderPass) -> None:
        """Leaves of the epoch what is worth running."""
        stats = one_pass.stats
        one_pass.is_cut = True
        others = min(16, 2 * math.ceil(one_pass.delivered / one_pass.steps)) if one_pass.steps else 1
        if stats.varied and not stats.complete:
            if not stats.on_gpu and not stats.gave_up:
                self._look_ahead(following, iterator, one_pass, others)
            return
        unfetched = skip_indices(iterator, others, SAMPLER_S) if not stats.is_endless else None
        if unfetched is None:  # it cannot be told to leave anything out
            stats.is_endless = True
            one_pass.left = others
            return
        self._count_skipped(one_pass, unfetched)

    def _look_ahead(self, following: Callable[[Any], Any], iterator: Any, one_pass: LoaderPass, others: int) -> None:
        """Pulls the rest of the epoch, and queues the largest batch and the last."""
        stats = one_pass.stats
        rest = EpochScan(stats, others)
        ended = rest.pull(partial(following, iterator), PULL_S)
        one_pass.queue, stats.to_show = rest.chosen(ended=ended, all_pulled=True)
        one_pass.queued_last = rest.last[1] if rest.last and ended else None
        one_pass.error = rest.error
        self._count_skipped(one_pass, rest.pulled - len(one_pass.queue))
        stats.steps_after = 0
        stats.complete |= ended
        stats.gave_up = not ended

    def _count_skipped(self, one_pass: LoaderPass, count: int) -> None:
        one_pass.left_out = one_pass.unannounced = count
        one_pass.stats.skipped += count

    def on_backward(self) -> None:
        """A backward pass was run: whoever handed out a batch since the last step trains."""
        for one_pass in self._all_passes():
            one_pass.backwards += one_pass.fresh

    def on_step(self, *, quiet_steps: int = 0) -> None:
        """An optimizer step was done; `quiet_steps` since the last new peak."""
        self._quiet = quiet_steps >= 2
        self._begun = min(self._begun, time.monotonic())
        # Both: an iterator that was made for one batch may be gone.
        takers: list[LoaderPass | LoaderStats] = [*self._all_passes(), *self._all_stats]
        for counted in takers:
            counted.steps += counted.fresh
            counted.fresh = False
        for stats in self._all_stats:
            if stats.steps_after is not None and not stats.to_show:
                stats.steps_after += 1

    def begin_forward(self, step: int) -> None:
        """Epochs may be cut from now on."""
        if self.forward_from is None:
            self.forward_from = step

    def take_skipped(self) -> list[tuple[Any, int]]:
        """Iterators that left out batches since the last call, and how many."""
        with self._lock:
            found = [(iterator, one) for iterator, one in self._passes.items() if one.unannounced]
        counts = [(iterator, one.unannounced) for iterator, one in found]
        for _, one in found:
            one.unannounced = 0
        return counts

    def is_waiting(self) -> bool:
        """Whether a batch of interest has still to be run, and will be if the job goes on."""
        if self.forward_from is None:
            return False
        waiting = [stats for stats in self._all_stats if self._is_waiting(stats)]
        for stats in waiting:
            stats.held += 1
        return bool(waiting)

    def is_ending(self) -> bool:
        """Whether an epoch that was cut has not come to its end yet."""
        return any(one_pass.is_cut and one_pass.trains and one_pass.delivered for one_pass in self._all_passes())

    @property
    def _varied(self) -> bool:
        return any(stats.varied and stats.steps >= 2 for stats in self._all_stats)

    def is_gathering(self, step: int, quiet_steps: int) -> bool:
        """Every new shape may split cached memory in a new way, so a job of many shapes is run for a while as it is."""
        if self.forward_from is not None or not self._varied:
            return False
        in_time = step < MAX_STEPS_GATHERED and time.monotonic() - self._begun < MAX_S_GATHERED
        return in_time and quiet_steps < QUIET_STEPS_GATHERED

    def _is_waiting(self, stats: LoaderStats) -> bool:
        if stats.held >= STEPS_OF_PATIENCE:
            return False
        return stats.steps_after is not None and (stats.to_show > 0 or stats.steps_after < STEPS_AFTER)

    def evaluated(self) -> int:
        """Batches handed out that led to no backward pass."""
        under_way = sum(one.delivered for one in self._all_passes() if not one.trains)
        return under_way + sum(stats.evaluated for stats in self._all_stats)

    def records(self, *, ended_by_itself: bool) -> list[events.Batches]:
        """A loader that led to no steps (validation) leaves no doubt."""
        return [
            events.Batches(
                loader=stats.number,
                handed_out=stats.handed_out,
                signatures=len(stats.signatures),
                skipped=stats.skipped,
                epoch_batches=stats.length,
                varied=stats.varied,
                still_changing=stats.varied and not stats.complete and stats.steps >= 2 and not ended_by_itself,
            )
            for stats in self._all_stats
            if stats.handed_out
        ]
