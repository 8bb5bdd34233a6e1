"""What the job's loaders hand out, and which batches are worth running. A stand-in plays PyTorch's loader."""

from __future__ import annotations

import itertools
from collections import UserDict, namedtuple
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from veritasest.agent import batches as module
from veritasest.agent.batches import Batches
from veritasest.agent.shapes import MAX_PARTS, look


def tensor(*shape: int, on_gpu: bool = False) -> SimpleNamespace:
    return SimpleNamespace(shape=shape, is_cuda=on_gpu)


Packed = namedtuple("Packed", ["data", "batch_sizes"])


@dataclass
class Sample:
    image: Any
    label: int


class Graph:
    def __init__(self) -> None:
        self._store = SimpleNamespace(nodes=tensor(5, 2), name="a graph")


BATCHES = {
    "a tensor": (tensor(4, 8), 4 * 8),
    "a dict": ({"ids": tensor(4, 8), "labels": tensor(4), "names": ["a", "b"]}, 4 * 8 + 4),
    "a dictionary of a library's own": (UserDict(ids=tensor(4, 8)), 4 * 8),
    "images of their own sizes": ([[tensor(3, 5, 5), tensor(3, 6, 6)], ({"boxes": tensor(2, 4)}, None)], 75 + 108 + 8),
    "a packed sequence": (Packed(tensor(9, 2), tensor(3)), 9 * 2 + 3),
    "a dataclass": (Sample(tensor(3, 3), 1), 9),
    "an object": (Graph(), 5 * 2),
    "nothing to see": ("text", 0),
}


@pytest.mark.parametrize("kind", BATCHES)
def test_all_tensors_of_a_batch_are_found(kind: str) -> None:
    batch, elements = BATCHES[kind]
    assert look(batch).elements == elements


def test_batches_of_the_same_shapes_look_alike_and_others_do_not() -> None:
    assert look({"x": tensor(4, 8)}) == look({"x": tensor(4, 8)})
    assert look({"x": tensor(4, 8)}).signature != look({"x": tensor(8, 4)}).signature


def test_fewer_but_longer_texts_are_a_stretch_of_the_same_elements() -> None:
    many, long = look(tensor(64, 128)), look(tensor(8, 1024))
    assert many.elements == long.elements == 8192
    assert (many.stretch, long.stretch) == (8192 * 128, 8192 * 1024)


def test_a_batch_that_contains_itself_or_has_no_end_of_parts_costs_little() -> None:
    endless: list[Any] = [tensor(2)]
    endless += [endless, *[0] * (2 * MAX_PARTS)]
    assert look(endless).elements >= 2


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
    """A training loop whose peak is the stretch of its batches; the job is ended as the recorder ends it."""

    def __init__(self, budget_s: float | None = 20.0) -> None:
        self.batches = Batches(budget_s=budget_s)
        self.torch = dataloader_module()
        self.batches.install(self.torch)
        self.seen: list[Any] = []
        self.step = self.peak = self.quiet = 0

    def iterator(self, loader: Loader) -> Any:
        return self.torch._BaseDataLoaderIter(loader)

    def epoch(self, loader: Loader) -> bool:
        """Whether the job was ended in it."""
        iterator = self.iterator(loader)
        while (batch := next(iterator, None)) is not None:
            if self.train(batch):
                return True
        return False

    def train(self, batch: Any) -> bool:
        self.seen.append(batch.shape)
        self.step += 1
        peak = look(batch).stretch
        self.quiet = 0 if peak > self.peak else self.quiet + 1
        self.peak = max(peak, self.peak)
        self.batches.on_step()
        settled = self.step >= 3 and self.quiet >= 2
        going = self.batches.keep_going(step=self.step, steps_since_new_peak=self.quiet, settled=settled)
        return settled and not going

    def record(self) -> dict[str, Any]:
        return self.batches.records(ended_by_itself=False)[0]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two quiet steps are enough also where batches vary."""
    monkeypatch.setattr(module, "QUIET_STEPS_GATHERED", 2)


def test_batches_that_look_alike_change_nothing() -> None:
    job = Job()
    loader = Loader([tensor(4, 8)] * 100, samples=400, size=4)
    assert job.epoch(loader)
    assert (job.step, loader.fetched) == (3, [0, 1, 2])
    assert job.record()["varied"] is job.record()["still_changing"] is False
    assert (job.record()["skipped"], job.record()["epoch_batches"]) == (0, 100)


@pytest.mark.usefixtures("quick")
def test_the_largest_and_the_last_batch_are_run_and_the_rest_is_skipped() -> None:
    lengths = [30, 20, 10, *[15] * 80, 99, *[15] * 10, 7]
    job = Job()
    assert job.epoch(Loader([tensor(4, n) for n in lengths]))
    # Three steps, then the largest, the last, and the two next ones; the peak settles with the first of those.
    assert [shape[1] for shape in job.seen] == [30, 20, 10, 99, 7, 15]
    record = job.record()
    assert (record["largest_elements"], record["largest_seen"], record["still_changing"]) == (4 * 99, True, False)
    assert (record["skipped"], record["ahead_from"]) == (len(lengths) - 3 - 4, 3)


def test_a_job_of_many_shapes_is_run_until_many_steps_brought_no_new_peak() -> None:
    lengths = [20 + n % 7 for n in range(400)]
    job = Job()
    assert job.epoch(Loader([tensor(4, n) for n in lengths]))
    # Lengths grow to 26 in step 7; 50 quiet steps, then the last batch is known and two more of the others are run.
    assert job.step == 7 + module.QUIET_STEPS_GATHERED + 2
    assert job.record()["ahead_from"] == 7 + module.QUIET_STEPS_GATHERED


def test_with_batches_sorted_by_length_time_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(budget_s=20.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: float(job.step))  # a second a step
    job.epoch(Loader([tensor(4, n) for n in range(1, 201)]))
    assert job.seen[:22] == [*[(4, n) for n in range(1, 22)], (4, 200)]


def test_a_partial_last_batch_is_run_and_what_lies_between_is_not_even_fetched() -> None:
    loader = Loader([*[tensor(4, 8)] * 99, tensor(2, 8)], samples=398, size=4)
    job = Job()
    assert job.epoch(loader)
    assert [shape[0] for shape in job.seen] == [4, 4, 4, 2, 4]
    assert loader.fetched == [0, 1, 2, 3, 4, 99]
    assert job.record()["varied"] is False


@pytest.mark.usefixtures("quick")
def test_an_epoch_that_ends_by_itself_is_complete() -> None:
    job = Job()
    loader = Loader([tensor(4, n) for n in (5, 6, 7)])
    assert not job.epoch(loader)
    assert job.epoch(loader)
    assert (job.record()["skipped"], job.record()["largest_seen"]) == (0, True)


@pytest.mark.usefixtures("quick")
def test_an_endless_loader_is_still_changing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veritasest.agent.lookahead.MAX_BATCHES", 50)
    job = Job()
    assert job.epoch(Loader(tensor(4, length) for length in itertools.cycle([10, 9, 8])))
    assert job.record()["still_changing"] is True
    assert (job.record()["epoch_batches"], job.record()["largest_seen"]) == (None, False)


@pytest.mark.usefixtures("quick")
def test_a_loop_with_a_new_iterator_for_every_batch_is_not_driven_through_its_epoch() -> None:
    loader = Loader([tensor(4, n) for n in range(300, 1, -1)])
    other = Loader([tensor(4, 9)])
    job = Job()
    ended = [job.train(next(job.iterator(source))) for source in (loader, loader, other, loader, loader)]
    assert len(loader.fetched) <= 4
    assert ended[-1]


@pytest.mark.usefixtures("quick")
def test_a_validation_loader_leaves_no_doubt_and_is_not_skipped() -> None:
    job = Job()
    validation = Loader([tensor(1, n) for n in range(1, 40)])
    check = job.iterator(validation)
    next(check), next(check)
    assert job.epoch(Loader([tensor(4, 8)] * 10))
    assert job.step == 3
    assert not any(record["still_changing"] for record in job.batches.records(ended_by_itself=False))


def test_without_a_budget_nothing_is_skipped_but_the_shapes_are_told() -> None:
    job = Job(budget_s=None)
    loader = Loader([tensor(4, n) for n in (9, 8, 7, 6, 5)])
    assert job.epoch(loader)
    assert loader.fetched == [0, 1, 2]
    assert (job.record()["still_changing"], job.record()["signatures"]) == (True, 3)
    assert not job.batches.records(ended_by_itself=True)[0]["still_changing"]


@pytest.mark.usefixtures("quick")
def test_batches_made_on_the_gpu_are_not_pulled() -> None:
    loader = Loader([tensor(4, n, on_gpu=True) for n in range(90, 1, -1)])
    job = Job()
    assert job.epoch(loader)
    assert loader.fetched == [0, 1, 2]
    assert job.record()["still_changing"] is True


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


def test_an_earlier_run_is_repeated_by_the_step_it_looked_ahead_after() -> None:
    lengths = [9, 8, 7, 6, *[5] * 50, 20, 4]
    job = Job()
    iterator = job.iterator(Loader([tensor(4, n) for n in lengths]))
    for step in range(1, 7):
        job.seen.append(next(iterator).shape)
        job.batches.on_step()
        if step == 3:
            job.batches.look_ahead(step)
    assert [shape[1] for shape in job.seen] == [9, 8, 7, 20, 4, 6]
