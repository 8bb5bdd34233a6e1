"""What the job's loaders hand out, and which batches are worth running. A stand-in plays PyTorch's loader."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from veritasest.engines.emulated.agent import batches as module
from veritasest.engines.emulated.agent.batches import Batches
from veritasest.engines.emulated.agent.shapes import describe_batch
from veritasest.trace import Batches as BatchesEvent


def tensor(*shape: int, on_gpu: bool = False) -> SimpleNamespace:
    return SimpleNamespace(shape=shape, is_cuda=on_gpu)


class Loader:
    """Map-style where it is given a list of batches, else of an iterable dataset."""

    def __init__(self, batches: Iterable[Any], *, samples: int | None = None, size: int | None = None) -> None:
        self.batches = batches
        self.sampler = range(samples) if samples is not None else None
        self.size = size
        self.fetched: list[int] = []


def dataloader_module() -> Any:
    class _BaseDataLoaderIter:
        def __init__(self, loader: Loader) -> None:
            counted = isinstance(loader.batches, list)
            self.loader = loader
            self._dataset_kind = 0 if counted else 1
            self._index_sampler = _Indices(loader) if counted else object()
            self._sampler_iter = iter(self._index_sampler if counted else loader.batches)

        def _reset(self, loader: Loader) -> None:
            self.__init__(loader)

        def __next__(self) -> Any:
            if self._dataset_kind:
                return next(self._sampler_iter)
            index = next(self._sampler_iter)
            self.loader.fetched.append(index)
            return self.loader.batches[index]

    return SimpleNamespace(_BaseDataLoaderIter=_BaseDataLoaderIter)


class _Indices:
    drop_last = False

    def __init__(self, loader: Loader) -> None:
        self.loader, self.batch_size, self.sampler = loader, loader.size, loader.sampler

    def __len__(self) -> int:
        return len(self.loader.batches)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))


class Job:
    """A training loop whose peak is the `quadratic_elements` of its batches. The forward stage begins when two
    steps reached no new peak and batches that vary have been seen for long enough."""

    def __init__(self, *, forward: bool = True, level: Callable[[], Any] = lambda: (0, 0, 0)) -> None:
        self.batches = Batches(level=level)
        self.torch = dataloader_module()
        self.batches.install(self.torch)
        self.forward = forward
        self.seen: list[Any] = []
        self.step = self.peak = self.quiet = 0

    def iterator(self, loader: Loader) -> Any:
        return self.torch._BaseDataLoaderIter(loader)

    def epoch(self, loader: Loader, most: int = 1000) -> None:
        iterator = self.iterator(loader)
        for _ in range(most):
            batch = next(iterator, None)
            if batch is None:
                return
            self.train(batch)

    def evaluate(self, loader: Loader) -> list[Any]:
        iterator = self.iterator(loader)
        return [batch.shape for batch in iter(lambda: next(iterator, None), None)]

    def train(self, batch: Any) -> None:
        self.seen.append(batch.shape)
        self.step += 1
        peak = describe_batch(batch).quadratic_elements
        self.quiet = 0 if peak > self.peak else self.quiet + 1
        self.peak = max(peak, self.peak)
        self.batches.on_backward()
        self.batches.on_step(quiet_steps=self.quiet)
        settled = self.step >= 3 and self.quiet >= 2
        if self.forward and settled and not self.batches.is_gathering(self.step, self.quiet):
            self.batches.begin_forward(self.step)

    def record(self) -> BatchesEvent:
        return self.batches.records(ended_by_itself=False)[0]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two quiet steps are enough also where batches vary."""
    monkeypatch.setattr(module, "QUIET_STEPS_GATHERED", 2)


def test_batches_that_look_alike_are_cut_to_the_next_few_and_the_last() -> None:
    job = Job()
    loader = Loader([tensor(4, 8)] * 100, samples=400, size=4)
    job.epoch(loader)
    assert loader.fetched == [0, 1, 2, 3, 4, 99]  # the batches between are not even fetched
    assert job.record().varied is job.record().still_changing is False
    assert (job.record().skipped, job.record().epoch_batches) == (94, 100)


def test_the_number_of_skipped_batches_is_given_once_for_enumerate() -> None:
    job = Job()
    iterator = job.iterator(Loader([tensor(4, 8)] * 100, samples=400, size=4))
    for _ in range(4):
        job.train(next(iterator))
    assert [(found is iterator, count) for found, count in job.batches.take_skipped()] == [(True, 94)]
    assert job.batches.take_skipped() == []


def test_until_the_forward_stage_nothing_is_skipped_but_the_shapes_are_recorded() -> None:
    job = Job(forward=False)
    loader = Loader([tensor(4, n) for n in (9, 8, 7, 6, 5)])
    job.epoch(loader)
    assert loader.fetched == [0, 1, 2, 3, 4]
    assert (job.record().still_changing, job.record().signatures) == (False, 5)


@pytest.mark.usefixtures("quick")
def test_the_largest_and_the_last_batch_are_run_and_the_rest_is_skipped() -> None:
    lengths = [30, 20, 10, *[15] * 80, 99, *[15] * 10, 7]
    job = Job()
    job.epoch(Loader([tensor(4, n) for n in lengths]))
    # Three steps, then the largest, the last, and the two next ones.
    assert [shape[1] for shape in job.seen] == [30, 20, 10, 99, 7, 15, 15]
    record = job.record()
    assert (record.signatures, record.still_changing) == (6, False)
    assert record.skipped == len(lengths) - 3 - 4


@pytest.mark.usefixtures("quick")
def test_a_batch_of_interest_is_waited_for_until_it_was_run() -> None:
    job = Job()
    iterator = job.iterator(Loader([tensor(4, n) for n in [30, 20, 10, *[15] * 20, 99, 7]]))
    waiting = []
    for _ in range(7):
        job.train(next(iterator))
        waiting.append(job.batches.is_waiting())
    # With a step to spare: loops may fetch one batch ahead.
    assert waiting == [False, False, False, True, True, False, False]


def test_a_job_of_many_shapes_is_run_until_many_steps_reached_no_new_peak() -> None:
    lengths = [20 + n % 7 for n in range(400)]
    job = Job()
    job.epoch(Loader([tensor(4, n) for n in lengths]))
    # Lengths grow to 26 in step 7; 50 quiet steps, then two more of the others are run: the last length is known.
    assert job.step == 7 + module.QUIET_STEPS_GATHERED + 2


def test_with_batches_sorted_by_length_time_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job()
    monkeypatch.setattr(module.time, "monotonic", lambda: float(job.step))  # one second per step
    lengths = [*range(1, 19), *[18] * 5, *range(19, 200)]
    job.epoch(Loader([tensor(4, n) for n in lengths]))
    assert (4, 199) in job.seen[:24]


def test_a_partial_last_batch_is_run_and_is_no_variation() -> None:
    loader = Loader([*[tensor(4, 8)] * 99, tensor(2, 8)], samples=398, size=4)
    job = Job()
    job.epoch(loader)
    assert [shape[0] for shape in job.seen] == [4, 4, 4, 4, 4, 2]
    assert loader.fetched == [0, 1, 2, 3, 4, 99]
    assert job.record().varied is False


def test_a_cut_epoch_is_ending_until_it_has_ended() -> None:
    job = Job()
    iterator = job.iterator(Loader([tensor(4, 8)] * 100, samples=400, size=4))
    ending = []
    while (batch := next(iterator, None)) is not None:
        job.train(batch)
        ending.append(job.batches.is_ending())
    assert ending == [False, False, False, True, True, True]
    assert job.batches.is_ending() is False


def test_later_epochs_are_cut_as_well() -> None:
    loader = Loader([tensor(4, 8)] * 100, samples=400, size=4)
    job = Job()
    for _ in range(3):
        job.epoch(loader)
    assert job.step == 6 + 5 + 5


def test_an_epoch_that_ends_by_itself_is_complete() -> None:
    job = Job()
    loader = Loader([tensor(4, n) for n in (5, 6, 7)])
    job.epoch(loader)
    assert (job.record().handed_out, job.record().skipped) == (3, 0)


@pytest.mark.usefixtures("quick")
def test_an_endless_loader_is_still_changing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veritasest.engines.emulated.agent.lookahead.MAX_BATCHES", 50)
    job = Job()
    job.epoch(Loader(tensor(4, length) for length in itertools.cycle([10, 9, 8])), most=30)
    assert job.record().still_changing is True
    assert job.record().epoch_batches is None


def test_an_endless_loader_of_equal_batches_ends_its_epoch() -> None:
    job = Job()
    job.epoch(Loader(tensor(4, 8) for _ in itertools.count()))
    assert job.step == 5


@pytest.mark.usefixtures("quick")
def test_a_loop_with_a_new_iterator_for_every_batch_is_not_driven_through_its_epoch() -> None:
    loader = Loader([tensor(4, n) for n in range(300, 1, -1)])
    other = Loader([tensor(4, 9)])
    job = Job()
    for source in (loader, loader, other, loader, loader):
        job.train(next(job.iterator(source)))
    assert len(loader.fetched) <= 4


def test_an_evaluation_is_cut_to_its_first_largest_and_last_batches() -> None:
    job = Job()
    validation = Loader([tensor(1, n) for n in [3, 2, 2, 2, *[1] * 30, 9, *[1] * 5, 4]])
    assert len(job.evaluate(validation)) == 41  # before training has settled nothing is cut
    job.epoch(Loader([tensor(4, 8)] * 10))
    fresh = Loader([tensor(1, n) for n in [3, 2, 2, 2, *[1] * 30, 9, *[1] * 5, 4]])
    assert [shape[1] for shape in job.evaluate(fresh)] == [3, 2, 2, 9, 4, 2]
    assert job.batches.evaluated() == 41 + 6
    assert not any(record.still_changing for record in job.batches.records(ended_by_itself=False))


def test_an_evaluation_that_collects_its_outputs_on_the_gpu_is_run_whole() -> None:
    held = itertools.count(1_000_000, 10_000)  # ten kilobytes more with every batch, below the peak of the training
    job = Job(level=lambda: (next(held), 9_000_000, 9_000_000))
    job.epoch(Loader([tensor(4, 8)] * 10))
    assert len(job.evaluate(Loader([tensor(64, 8)] * 200))) == 200


def test_an_evaluation_whose_peak_still_grows_is_run_on() -> None:
    peaks = itertools.chain([5, 6, 7, 8, 9], itertools.repeat(9))
    job = Job(level=lambda: (1, next(peaks), 9))
    job.epoch(Loader([tensor(4, 8)] * 10))
    # The peak is last seen to grow with the fifth batch, and three readings in a row must be alike.
    assert len(job.evaluate(Loader([tensor(64, 8)] * 200))) == 8


@pytest.mark.usefixtures("quick")
def test_batches_made_on_the_gpu_are_not_pulled() -> None:
    loader = Loader([tensor(4, n, on_gpu=True) for n in range(90, 1, -1)])
    job = Job()
    job.epoch(loader, most=10)
    assert loader.fetched == list(range(10))
    assert job.record().still_changing is True


@pytest.mark.usefixtures("quick")
def test_an_error_met_while_looking_ahead_is_raised_after_the_batches_before_it() -> None:
    def broken() -> Iterator[Any]:
        yield from [tensor(4, n) for n in (9, 8, 7, 6, 12)]
        raise OSError("no such image")

    job = Job()
    with pytest.raises(OSError, match="no such image"):
        job.epoch(Loader(broken()))
    assert (4, 12) in job.seen


def test_a_forked_child_hands_out_batches_as_they_are() -> None:
    job = Job()
    job.batches.active = False
    job.epoch(Loader([tensor(4, n) for n in range(30)]))
    assert len(job.seen) == 30
    assert job.batches.records(ended_by_itself=False) == []
