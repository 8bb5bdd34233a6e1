"""Jobs that are distributed over one rank: what ranks tell each other arrives, with the default options."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run, call, free_port

BEGIN = """
import os, torch
import torch.distributed as dist

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="{port}", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
{start}
torch.cuda.set_device(0)
ranks = dist.get_world_size()
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(4)]).cuda()

def train(model, steps=4):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(64, 256).cuda()).sum().backward()
        optimizer.step()
    print("trained")
"""
ALONE = 'dist.init_process_group("nccl")'
# Without a launcher, the other ranks are only claimed to be there.
AMONG_FOUR = 'dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=4)'


def begin(start: str = ALONE) -> str:
    return BEGIN.format(port=free_port(), start=start)


WRAPPED = {
    "DDP": "train(torch.nn.parallel.DistributedDataParallel(model, device_ids=[0]))",
    "FSDP": "from torch.distributed.fsdp import FullyShardedDataParallel\n"
    "train(FullyShardedDataParallel(model, sync_module_states=True, device_id=0))",
    "FSDP2": "from torch.distributed.fsdp import fully_shard\n"
    "for layer in model:\n    fully_shard(layer)\ntrain(fully_shard(model))",
}


@pytest.mark.parametrize("how", WRAPPED)
def test_one_rank_trains(estimate: Callable[..., Run], how: str) -> None:
    run = estimate(begin() + WRAPPED[how], "--until-exit")
    assert run.code == 0, run.text
    assert b"trained" in run.stdout
    assert run.estimate is not None
    assert (run.estimate["verdict"], run.estimate["steps"]) == ("fits", 4)
    assert not run.estimate["assumed"]


def test_one_rank_trains_under_torchrun(script: Callable[[str], Path], tmp_path: Path) -> None:
    text = begin().replace("os.environ.update", "dict")  # the launcher sets them
    path = script(text + WRAPPED["DDP"])
    torchrun = str(Path(sys.executable).parent / "torchrun")
    done = call("run", "--until-exit", "--", torchrun, "--nproc-per-node", "1", str(path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    assert b"trained" in done.stdout


def test_tracked_values_need_no_more_memory(estimate: Callable[..., Run]) -> None:
    runs = [estimate(begin() + WRAPPED["DDP"], "--until-exit", "--values", mode) for mode in ("auto", "off")]
    assert [run.code for run in runs] == [0, 0]
    peaks = [run.peak["reserved_bytes"] for run in runs if run.estimate]
    assert peaks[0] == peaks[1]


COLLECTIVES = """
def numbers(*values):
    return torch.tensor(values, device="cuda")

def same(what, found, expected):
    assert found == expected, f"{what}: {found!r} is not {expected!r}"

parts = [torch.empty(2, dtype=torch.int64, device="cuda") for _ in range(ranks)]
dist.all_gather(parts, numbers(3, 4))
same("all_gather", [part.tolist() for part in parts], [[3, 4]] * ranks)

zeros = [torch.zeros(2, dtype=torch.int64, device="cuda") for _ in range(ranks)]
dist.all_gather(zeros, numbers(5, 6))
same("all_gather over known values", [part.tolist() for part in zeros], [[5, 6]] * ranks)

whole = torch.empty(2 * ranks, dtype=torch.int64, device="cuda")
dist.all_gather_into_tensor(whole, numbers(7, 8))
same("all_gather_into_tensor", whole.tolist(), [7, 8] * ranks)

for kind, expected in ((torch.int64, 7 * ranks), (torch.float32, 7.0 * ranks)):
    total = numbers(7).to(kind)
    dist.all_reduce(total)
    same("all_reduce", total.item(), expected)
largest = numbers(7)
dist.all_reduce(largest, op=dist.ReduceOp.MAX)
same("all_reduce of the largest", largest.item(), 7)
average = numbers(7.5)
dist.all_reduce(average, op=dist.ReduceOp.AVG)
same("all_reduce of the average", average.item(), 7.5)

own = numbers(9, 8)
dist.broadcast(own, 0)
same("broadcast", own.tolist(), [9, 8])

share = torch.empty(2, dtype=torch.int64, device="cuda")
dist.reduce_scatter_tensor(share, torch.arange(2 * ranks, device="cuda"))
same("reduce_scatter", share.tolist(), [0, ranks])

objects = [None] * ranks
dist.all_gather_object(objects, {"lengths": [1, 2, 3], "text": "x" * 1000})
same("all_gather_object", objects, [{"lengths": [1, 2, 3], "text": "x" * 1000}] * ranks)
dist.all_gather_object(objects, b"y" * 3_000_000)
same("a large all_gather_object", objects, [b"y" * 3_000_000] * ranks)

listed = [{"seed": 5}, "name"]
dist.broadcast_object_list(listed, 0)
same("broadcast_object_list", listed, [{"seed": 5}, "name"])
dist.barrier()
"""

# These go from rank to rank: what the others would send is known to one rank alone only.
BETWEEN_TWO = """
gathered = [None] * ranks
dist.gather_object({"k": 1}, gathered, 0)
same("gather_object", gathered, [{"k": 1}])
scattered = [None]
dist.scatter_object_list(scattered, [{"s": 2}], 0)
same("scatter_object_list", scattered, [{"s": 2}])
sent = torch.empty(1, dtype=torch.int64, device="cuda")
dist.all_to_all_single(sent, numbers(6))
same("all_to_all", sent.tolist(), [6])
reduced = numbers(4)
dist.reduce(reduced, 0)
same("reduce", reduced.item(), 4)
"""

MESH = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

mesh = init_device_mesh("cuda", (ranks,))
spread = distribute_tensor(torch.arange(16, device="cuda"), mesh, [Shard(0)])
assert spread.to_local().tolist() == list(range(16 // ranks))
assert ranks > 1 or spread.full_tensor().tolist() == list(range(16))
print("all arrived")
"""


@pytest.mark.parametrize(
    ("start", "body"),
    [(ALONE, COLLECTIVES + BETWEEN_TWO + MESH), (AMONG_FOUR, COLLECTIVES + 'print("all arrived")')],
    ids=["alone", "among four"],
)
def test_collectives_give_what_identical_ranks_would(estimate: Callable[..., Run], start: str, body: str) -> None:
    run = estimate(begin(start) + body, "--until-exit")
    assert run.code == 0, run.text
    assert b"all arrived" in run.stdout
    assert run.estimate is not None
    assert not run.estimate["assumed"]


def test_what_was_unknown_before_a_collective_is_unknown_after_it(estimate: Callable[..., Run]) -> None:
    body = """
loss = model(torch.randn(64, 256).cuda()).sum()
dist.all_reduce(loss)
parts = [torch.zeros_like(loss) for _ in range(ranks)]
dist.all_gather(parts, loss.detach())
assert 0 < parts[0].item() < 1, parts
print("all arrived")
"""
    run = estimate(begin() + body, "--until-exit")
    assert b"all arrived" in run.stdout, run.text
    assert run.estimate is not None
    assert len(run.estimate["assumed"]) == 1
