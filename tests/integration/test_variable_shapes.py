"""A job is not ended before its largest batch was run, where its loader can tell."""

import pytest

from veritasest.trace import Batches

from .conftest import trace_of

# `lengths` names the length of each batch of 4 texts. Each step keeps nothing, so that only the batch makes the peak.
JOB = """
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

class Texts(Dataset):
    def __init__(self, lengths):
        self.lengths = lengths
    def __len__(self):
        return 4 * len(self.lengths)
    def __getitem__(self, index):
        return torch.zeros(self.lengths[index // 4], 1024)

class Endless(IterableDataset):
    def __iter__(self):
        number = 0
        while True:
            number += 1
            yield from [torch.zeros(2 + number % 5, 1024)] * 4

class Loader(DataLoader):  # people subclass it
    pass

def train(loader):
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for texts in loader:
        model(texts.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    print("epoch ended", flush=True)
"""

# Two lengths in turn, the largest batch of all near the end, a short last one.
ONE_LARGE = "lengths = [64 + 8 * (n % 2) for n in range(150)]\nlengths[130] = 512\nlengths[-1] = 16\n"
ALL_ALIKE = "lengths = [64] * 100\n"


def test_the_largest_batch_is_run_without_the_whole_epoch(estimate):
    job = JOB + ONE_LARGE + "train(Loader(Texts(lengths), batch_size=4))\n"
    run, whole = estimate(job, "--budget", "0.2"), estimate(job, "--until-exit")
    assert run.code == whole.code == 0, run.text + whole.text
    assert run.estimate["steps"] < 100 < whole.estimate["steps"]
    assert run.estimate["settled"] is True
    assert b"epoch ended" in run.stdout
    assert run.peak["allocated_bytes"] == whole.peak["allocated_bytes"]
    (warning,) = run.estimate["warnings"]
    assert "the largest of the epoch's 150 batches was run" in warning
    assert whole.estimate["warnings"] == []


def test_workers_fetch_the_batches_that_are_looked_through(estimate):
    loader = "Loader(Texts(lengths), batch_size=4, num_workers=2, persistent_workers=True)"
    alone, helped = (
        estimate(JOB + ONE_LARGE + f"if __name__ == '__main__':\n    train({text})\n", "--budget", "0.2")
        for text in ("Loader(Texts(lengths), batch_size=4)", loader)
    )
    assert helped.code == 0, helped.text
    assert helped.peak["allocated_bytes"] == alone.peak["allocated_bytes"]
    assert helped.estimate["steps"] < 100


def test_a_short_epoch_sorted_by_length_is_run_as_it_is(estimate):
    job = JOB + "train(Loader(Texts(range(16, 76)), batch_size=4))\n"
    run, whole = estimate(job), estimate(job, "--until-exit")
    assert run.estimate["steps"] == whole.estimate["steps"] == 60
    assert run.peak == whole.peak
    assert run.estimate["warnings"] == []


@pytest.mark.parametrize("workers", [0, 2])
def test_an_epoch_of_equal_batches_is_cut(estimate, workers):
    lengths = ALL_ALIKE.replace("100", "100_000")
    job = JOB + lengths + f"train(Loader(Texts(lengths), batch_size=4, num_workers={workers}))\n"
    run = estimate(job, "--budget", "0.2")
    assert run.code == 0, run.text
    assert run.estimate["steps"] < 1000
    assert run.estimate["observed"]["to_the_end"] is True
    assert run.estimate["warnings"] == []


@pytest.mark.parametrize("workers", [0, 2])
def test_a_partial_last_batch_is_run_as_well(estimate, tmp_path, workers):
    # 4,000 texts, 9 at a time: 444 batches and one of 4.
    lengths = ALL_ALIKE.replace("100", "1000")
    job = JOB + lengths + f"train(Loader(Texts(lengths), batch_size=9, num_workers={workers}))\n"
    run = estimate(job, "--budget", "0.2", "--save", "saved")
    assert run.code == 0, run.text
    assert run.estimate["steps"] < 300
    assert run.estimate["warnings"] == []
    (loader,) = trace_of(tmp_path / "saved").of(Batches)
    assert (loader.signatures, loader.epoch_batches, loader.varied) == (2, 445, False)


def test_an_endless_loader_whose_shapes_vary_leaves_a_doubt(estimate):
    run = estimate(JOB + "train(Loader(Endless(), batch_size=4))\n")
    assert run.code == 0, run.text
    (warning,) = run.estimate["warnings"]
    assert "still changing" in warning


def test_steps_skips_nothing_and_says_that_shapes_varied(estimate):
    run = estimate(JOB + ONE_LARGE + "train(Loader(Texts(lengths), batch_size=4))\n", "--steps", "6")
    assert run.estimate["steps"] == 6
    assert any("still changing" in warning for warning in run.estimate["warnings"])


def test_a_loop_that_takes_one_batch_from_each_new_iterator_is_not_driven_through_its_epoch(estimate):
    loop = """
pad = torch.nn.utils.rnn.pad_sequence
loader = Loader(Texts([64 + n % 8 for n in range(500)]), batch_size=4, shuffle=True, collate_fn=pad)
model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
while True:
    model(next(iter(loader)).cuda()).sum().backward()
    optimizer.step()
"""
    run = estimate(JOB + loop)
    assert run.code == 0, run.text
    assert run.estimate["settled"] is True
    assert any("still changing" in warning for warning in run.estimate["warnings"])
