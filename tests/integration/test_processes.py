"""Workers, launchers, signals, and two estimates at once."""

import json
import signal
import sys
import time
from pathlib import Path

import pytest

from veritasest import trace

from .conftest import TRAIN_FOREVER, call, trace_of

WORKERS = """
import torch
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        # The worker has the job's device: one, whatever the host has.
        return torch.full((1024,), float(torch.cuda.device_count()))

if __name__ == "__main__":
    model = torch.nn.Linear(1024, 1024).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for batch in DataLoader(Data(), batch_size=8, num_workers=1, multiprocessing_context="{method}"):
        assert batch.eq(1).all(), batch
        optimizer.zero_grad()
        model(batch.cuda()).sum().backward()
        optimizer.step()
"""

# Writes its process ids once it trains: itself, a worker-like child, and a child in a session of its own.
TELL_PIDS = """
import os, subprocess
child = subprocess.Popen(["sleep", "600"])
leaver = subprocess.Popen(["sleep", "600"], start_new_session=True)
train(steps=3)
with open("pids.part", "w") as file:
    print(os.getpid(), child.pid, leaver.pid, file=file)
os.rename("pids.part", "pids")
train()
"""


def alive(pid: int) -> bool:
    """A zombie is dead: only its parent has not looked yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(path: Path, patience_s: float = 60) -> str:
    deadline = time.monotonic() + patience_s
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} did not appear in {patience_s} s"
        time.sleep(0.05)
    return path.read_text()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_dataloader_workers_get_the_same_device(estimate, method):
    run = estimate(WORKERS.format(method=method))
    assert run.code == 0, run.text
    assert run.estimate["verdict"] == "fits"
    assert run.estimate["steps"] >= 3


def test_torchrun_with_one_process_is_estimated(script, tmp_path):
    job = script(TRAIN_FOREVER + "train()\n")
    answer = tmp_path / "estimate.json"
    words = ["--json", str(answer), "--", "torchrun", "--nproc-per-node", "1", str(job)]
    done = call("run", "--memory", "16GiB", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    estimate = json.loads(answer.read_text())
    assert estimate["verdict"] == "fits"
    assert estimate["steps"] >= 3


def test_two_estimates_at_once_give_what_each_gives_alone(script, started, tmp_path):
    small = script(TRAIN_FOREVER + "train()\n", "small.py")
    large = script((TRAIN_FOREVER + "train()\n").replace("1024", "4096"), "large.py")

    def answer(job):
        return json.loads((tmp_path / f"{job.stem}.json").read_text())["ranks"][0]["peak"]

    def start(job):
        return started("run", "--steps", "3", "--json", f"{job.stem}.json", "--force", "--", sys.executable, str(job))

    alone = []
    for job in (small, large):
        assert start(job).wait(120) == 0
        alone.append(answer(job))
    for process in [start(small), start(large)]:
        assert process.wait(120) == 0
    assert [answer(small), answer(large)] == alone
    assert alone[0]["allocated_bytes"] < alone[1]["allocated_bytes"]


def test_ctrl_c_ends_every_process_of_the_job_and_keeps_the_recording(started, script, tmp_path):
    job = script(TRAIN_FOREVER + TELL_PIDS)
    process = started("run", "--until-exit", "--allow-writes", "--save", "saved", "--", sys.executable, str(job))
    pids = [int(word) for word in wait_for(tmp_path / "pids").split()]
    assert all(map(alive, pids))
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert not any(map(alive, pids))
    kept = trace_of(tmp_path / "saved")
    assert kept.of(trace.Exit)[-1].reason == "interrupted"
    assert len(kept.of(trace.Step)) >= 3


def test_a_job_that_ends_leaves_no_process_behind(estimate, tmp_path):
    run = estimate(TRAIN_FOREVER + TELL_PIDS, "--steps", "5", "--allow-writes")
    assert run.code == 0, run.text
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    assert not any(map(alive, pids))


def test_the_trace_of_a_job_killed_with_sigkill_is_readable(estimate, tmp_path):
    job = TRAIN_FOREVER + "train(steps=2)\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
    run = estimate(job, "--save", "saved")
    assert run.code == 1
    read = trace_of(tmp_path / "saved")
    assert read.of(trace.Exit)[-1].code == -signal.SIGKILL
    assert [step.step for step in read.of(trace.Step)] == [1, 2]
    assert run.peak["reserved_bytes"] > 0
