"""By default a job is seen through its whole life: evaluation, saving, later epochs and branches, its own end."""

import pytest

# Three layers, a batch of 64 in training; the peak is wherever more rows than that pass through the model.
MODEL = """
import torch
from torch.utils.data import DataLoader, TensorDataset

model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(3)]).cuda()
optimizer = torch.optim.Adam(model.parameters())
data = TensorDataset(torch.zeros(64 * 500 + 7, 1024))

def step(rows=64):
    optimizer.zero_grad()
    model(torch.zeros(rows, 1024, device="cuda")).sum().backward()
    optimizer.step()

@torch.no_grad()
def evaluate(rows):
    model.eval()
    model(torch.zeros(rows, 1024, device="cuda"))
    model.train()
"""

EPOCHS = """
for epoch in range(100):
    for index, (batch,) in enumerate(DataLoader(data, 64)):
        optimizer.zero_grad()
        model(batch.cuda()).sum().backward()
        optimizer.step()
        if index == 500:
            print("the last batch has the last index", batch.shape[0], flush=True)
    evaluate(20_000)
torch.save(model.state_dict(), "model.pt")
evaluate(30_000)
print("the end")
"""

WHILE = """
count, every, most = 0, 5_000, 1_000_000
while True:
    if count % every == 0 and count > 0:
        evaluate(30_000)
    step()
    count += 1
    if count > most:
        break
"""

BRANCHES = """
def train():
    for index in range(50_000):
        step()
        if (index + 1) % 10_000 == 0:
            evaluate(30_000)
        if index >= 20_000 and not hasattr(model, "average"):
            model.average = torch.zeros(2**24, device="cuda")
train()
"""

BY_HAND = """
parameters = list(model.parameters())
for epoch in range(100):
    for index in range(10_000):
        for parameter in parameters:
            parameter.grad = None
        model(torch.zeros(64, 1024, device="cuda")).sum().backward()
        for parameter in parameters:
            parameter.data.add_(parameter.grad, alpha=-0.1)
    evaluate(30_000)
"""

CAPTURE = """
for index in range(10_000):
    if index == 4_000:
        static = torch.zeros(20_000, 1024, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(static)
    step()
"""

# What each needs at least: activations of the largest evaluation, rows x 1024 x 4 bytes, in and out of a layer.
ROWS = 1024 * 4
LATE = {
    "an evaluation after each epoch, and one at the end": (EPOCHS, 2 * 30_000 * ROWS),
    "an evaluation in a loop that counts by itself": (WHILE, 2 * 30_000 * ROWS),
    "branches that run after thousands of steps": (BRANCHES, 2 * 30_000 * ROWS),
    "updates without an optimizer": (BY_HAND, 2 * 30_000 * ROWS),
    "a graph captured after a long warm-up": (CAPTURE, 3 * 20_000 * ROWS),
}


@pytest.mark.parametrize("where", LATE)
def test_a_late_peak_is_observed(estimate, where):
    body, at_least = LATE[where]
    run = estimate(MODEL + body, "--budget", "4")
    assert run.code == 0, run.text
    assert run.peak["allocated_bytes"] > at_least
    assert run.estimate["observed"]["fast_forwarded"] is True
    assert run.estimate["observed"]["to_the_end"] is True, run.text
    assert run.estimate["not_reached"] == []


def test_skipped_batches_are_counted_by_enumerate_and_the_last_one_is_run(estimate):
    run = estimate(MODEL + EPOCHS, "--budget", "4")
    assert b"the last batch has the last index 7" in run.stdout
    assert b"the end" in run.stdout
    seen = run.estimate["observed"]
    assert (seen["checkpoints"], seen["evaluations"] >= 2) == (1, True)


def test_a_short_job_is_run_as_it_is(estimate):
    job = MODEL + "for _ in range(12):\n    step()\nevaluate(30_000)\n"
    run, whole = estimate(job), estimate(job, "--until-exit")
    assert run.peak == whole.peak
    assert run.estimate["steps"] == 12
    assert run.estimate["observed"]["fast_forwarded"] is False


def test_what_cannot_be_reached_is_named(estimate):
    job = MODEL + "def endless():\n    while True:\n        yield 64\nfor rows in endless():\n    step(rows)\n"
    run = estimate(job + "    if model.training is None:\n        evaluate(9)\nevaluate(30_000)\n", "--budget", "2")
    assert run.code == 0, run.text
    (missed,) = run.estimate["not_reached"]
    assert missed["what"] == "evaluate(30000)"
    assert missed["file"].endswith("train.py")
    assert "not reached" in run.text
    assert run.estimate["observed"]["to_the_end"] is False


def test_a_script_that_fails_when_parts_are_skipped_is_run_without(estimate):
    job = MODEL + (
        "for epoch in range(50):\n    seen = 0\n    for (batch,) in DataLoader(data, 64):\n"
        "        step()\n        seen += 1\n    assert seen == 501\n"
    )
    run = estimate(job, "--budget", "2")
    assert run.code == 0, run.text
    assert run.estimate["verdict"] == "fits"
    assert any("skipping repeated parts made the script fail" in warning for warning in run.estimate["warnings"])


def test_outputs_collected_on_the_gpu_during_an_evaluation_are_all_counted(estimate):
    collecting = """
for epoch in range(20):
    for (batch,) in DataLoader(data, 64):
        step()
    with torch.no_grad():
        outputs = [model(batch.cuda()) for (batch,) in DataLoader(data, 64)]
    del outputs
"""
    run = estimate(MODEL + collecting, "--budget", "2")
    assert run.code == 0, run.text
    assert run.peak["allocated_bytes"] > 64 * 500 * ROWS  # all 501 outputs
