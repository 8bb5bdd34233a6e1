"""Every known road to a "fits" that nothing supports ends in another verdict."""

import json

import pytest

from .conftest import MIB, TRAIN_FOREVER, call

# A process that takes so many MiB of the device, as one tensor, and steps once.
WORKER = """
import sys, time
from pathlib import Path
import torch

def work(mib, hold=lambda: None):
    weights = torch.nn.Parameter(torch.zeros(mib << 18, device="cuda"))
    hold()
    torch.optim.SGD([weights], lr=0.1).step()

def wait_for(*names):
    deadline = time.monotonic() + 120
    while not all(Path(name).exists() for name in names):
        assert time.monotonic() < deadline
        time.sleep(0.02)
"""


def reason(run):
    assert run.code == 5, run.text
    assert run.estimate["verdict"] == "undetermined"
    assert run.estimate["failure"] is None
    assert run.estimate["undetermined"]["message"] in run.text
    assert run.estimate["undetermined"]["hint"] in run.text
    return run.estimate["undetermined"]["reason"]


def test_a_job_that_never_uses_the_gpu_is_undetermined(estimate):
    run = estimate(TRAIN_FOREVER.replace(".cuda()", "") + "train(steps=3)\n")
    assert reason(run) == "no_gpu"
    assert "'cuda'" in run.text


def test_a_timeout_before_the_first_step_is_undetermined(estimate):
    run = estimate("import time, torch\nx = torch.zeros(1, device='cuda')\ntime.sleep(600)\n", "--timeout", "15")
    assert reason(run) == "timeout"
    assert "longer --timeout" in run.text


def test_a_launcher_that_waits_for_other_nodes_is_undetermined(script, tmp_path):
    job, answer = script(TRAIN_FOREVER + "train()\n"), tmp_path / "estimate.json"
    nodes = ["--nnodes", "2", "--node-rank", "0", "--master-addr", "localhost"]
    words = ["--timeout", "20", "--json", str(answer), "--", "torchrun", *nodes, "--nproc-per-node", "1", str(job)]
    done = call("run", *words, cwd=tmp_path)
    assert done.returncode == 5, done.stderr.decode()
    found = json.loads(answer.read_text())["undetermined"]
    assert (found["reason"], "--nnodes 1" in found["hint"]) == ("no_ranks", True)


# As in pytorch/examples, mnist_hogwild: the model's memory is shared, and nobody looks at exit codes.
HOGWILD = """
import torch
import torch.multiprocessing as mp

def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.randn(8, 64, device="cuda")).sum().backward()
    optimizer.step()

if __name__ == "__main__":
    mp.set_start_method("spawn")
    model = torch.nn.Linear(64, 64).cuda()
    model.share_memory()
    workers = [mp.Process(target=train, args=(model,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    train(model)
"""


def test_workers_that_the_device_refused_are_not_left_out(estimate):
    run = estimate(HOGWILD, "--until-exit")
    assert reason(run) == "workers_died"
    assert "cudaIpcOpenMemHandle" in run.estimate["undetermined"]["message"]


SUPERVISED = """
import os, signal, subprocess, sys
if len(sys.argv) > 1:
{worker}
else:
    worker = subprocess.Popen([sys.executable, __file__, "worker"])
{supervisor}
"""


def indented(text):
    return "".join(f"    {line}\n" for line in text.strip().splitlines())


def supervised(worker, supervisor):
    return SUPERVISED.format(worker=indented(worker), supervisor=indented(supervisor))


@pytest.mark.parametrize(
    ("end", "how"),
    [("raise ValueError('no data')", "ValueError: no data"), ("os.kill(os.getpid(), signal.SIGKILL)", "by a signal")],
)
def test_a_worker_that_died_unnoticed_is_noticed(estimate, end, how):
    worker = f"import torch\ntorch.zeros(1, device='cuda')\n{end}"
    run = estimate(supervised(worker, "worker.wait()\n" + WORKER + "work(2)"))
    assert reason(run) == "workers_died"
    assert how in run.estimate["undetermined"]["message"]


def test_a_worker_that_the_job_itself_ends_is_no_failure(estimate):
    worker = WORKER + "work(20)\nopen('ready', 'w').close()\ntime.sleep(600)"
    run = estimate(supervised(worker, WORKER + "wait_for('ready')\nworker.terminate()\nworker.wait()\nwork(2)"))
    assert (run.code, run.estimate["verdict"]) == (0, "fits"), run.text
    assert run.peak["reserved_bytes"] == 20 * MIB


def test_a_supervisor_whose_worker_was_ended_does_not_fail_the_job(estimate):
    supervisor = "code = worker.wait()\nraise RuntimeError(f'the worker died early: {code}')"
    run = estimate(supervised(TRAIN_FOREVER + "train()", supervisor))
    assert (run.code, run.estimate["verdict"], run.estimate["failure"]) == (0, "fits", None), run.text
    assert run.estimate["steps"] >= 3


def test_a_worker_that_fails_before_anything_settled_fails_the_job(estimate):
    supervisor = "code = worker.wait()\nraise RuntimeError(f'the worker died early: {code}')"
    run = estimate(supervised(TRAIN_FOREVER + "train(steps=1)\nraise ValueError('no data')", supervisor))
    assert (run.code, run.estimate["verdict"]) == (1, "job_failed"), run.text


# Memory taken behind PyTorch's back, in a process that never imports it.
UNOBSERVED = """
import ctypes, subprocess, sys
if len(sys.argv) > 1:
    address = ctypes.c_void_p()
    assert ctypes.CDLL(None).cudaMalloc(ctypes.byref(address), ctypes.c_size_t(64 << 20)) == 0
else:
    subprocess.run([sys.executable, __file__, "worker"], check=True)
"""


def test_memory_taken_by_a_process_without_the_agent_is_undetermined(estimate):
    run = estimate(UNOBSERVED + "    " + "\n    ".join((WORKER + "work(2)").splitlines()))
    assert reason(run) == "agent_absent"


def test_a_damaged_trace_is_undetermined(estimate):
    damage = "open(json.load(open(os.environ['VERITASEST_RUN']))['native']['trace'], 'a').write('{\\n' * 3)\n"
    run = estimate(WORKER + "import json, os\nwork(2)\n" + damage)
    assert reason(run) == "trace_gap"
    assert "report" in run.estimate["undetermined"]["hint"]
    assert "recording kept" in run.text


ONE_AFTER_THE_OTHER = """
import subprocess, sys
if len(sys.argv) == 1:
    for _ in range(3):
        subprocess.run([sys.executable, __file__, "worker"], check=True)
    sys.exit()
"""


def test_processes_that_follow_each_other_need_no_more_than_the_largest(estimate):
    run = estimate(ONE_AFTER_THE_OTHER + WORKER + "work(600)", "--memory", "2GiB")
    assert (run.code, run.estimate["verdict"]) == (0, "fits"), run.text
    assert run.peak["reserved_bytes"] == 600 * MIB
    assert run.worst["processes"] == 1


FORKS = """
import os
for _ in range(3):
    if os.fork() == 0:
        work(600)
        os._exit(0)
    os.wait()
"""


def test_children_forked_one_after_the_other_are_never_added_up(estimate):
    run = estimate(WORKER + FORKS, "--memory", "2GiB")
    assert run.estimate["verdict"] in ("fits", "undetermined"), run.text
    assert run.peak["reserved_bytes"] == 600 * MIB
    assert run.peak["allocated_bytes"] != 0  # not known is not zero


AT_THE_SAME_TIME = """
import subprocess, sys
if len(sys.argv) == 1:
    workers = [subprocess.Popen([sys.executable, __file__, str(number)]) for number in range(2)]
    sys.exit(max([worker.wait() for worker in workers]))
"""
HOLD = """
def hold():
    open(f"holds{sys.argv[1]}", "w").close()
    wait_for("holds0", "holds1")
"""


def test_processes_that_live_at_the_same_time_are_added_up(estimate):
    run = estimate(AT_THE_SAME_TIME + WORKER + HOLD + "work(600, hold)", "--gpu", "h200", "--memory", "3GiB")
    assert (run.code, run.estimate["verdict"]) == (0, "fits"), run.text
    worst, needs = run.worst, run.needs
    assert (needs["unconstrained_bytes"], worst["processes"]) == (2 * 600 * MIB, 2)
    assert run.peak["allocated_bytes"] == 2 * 600 * MIB
    # Each has its context, and its kernels' memory.
    assert needs["process_bytes"] == (2 * 600 + 2 * 527) * MIB + worst["library_overhead_bytes"] <= 3 * 1024 * MIB
    assert "contexts of 2 processes" in run.text


def test_processes_that_do_not_fit_together_do_not_fit(estimate):
    worker = WORKER + HOLD + "try:\n    work(1000, hold)\nfinally:\n    open(f'holds{sys.argv[1]}', 'w').close()\n"
    run = estimate(AT_THE_SAME_TIME + worker, "--gpu", "h200", "--memory", "3GiB")
    # Each alone would: 1000 + 527 MiB of 3072. Both together take 3054 and what kernels bring, 94 MiB each.
    assert (run.code, run.estimate["verdict"]) == (3, "does_not_fit"), run.text
