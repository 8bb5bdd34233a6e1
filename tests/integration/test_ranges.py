"""Repeats of one job on a GPU need not reserve the same: what the estimate says of that, on real jobs."""

import pytest

from .conftest import trace_of

MIB = 2**20

MODEL = """
import torch
from torch import nn

torch.manual_seed(0)
first = nn.Conv2d(3, 32, 3, padding=1)
rest = [nn.Sequential(nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1)) for _ in range(4)]
model = nn.Sequential(first, *rest, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def train(batch):
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""

# The next batch is copied on a side stream while this one is used, and stays the side stream's memory.
PREFETCHES = """
side = torch.cuda.Stream()

def load():
    with torch.cuda.stream(side):
        return torch.randn(32, 3, 128, 128).pin_memory().cuda(non_blocking=True)

batch = load()
for step in range(60):
    torch.cuda.current_stream().wait_stream(side)
    used, batch = batch, load()
    used.record_stream(torch.cuda.current_stream())
    train(used)
    SYNCHRONISE
"""

PINNED = """
data = torch.utils.data.TensorDataset(torch.randn(512, 3, 64, 64))
for epoch in range(4):
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=32, pin_memory=True, num_workers=2):
        train(batch.cuda(non_blocking=True))
"""

# Activations copied to the host on a stream of their own, as offloading does it: their blocks wait for the copies.
OFFLOADS = """
side = torch.cuda.Stream()

class Offloaded(torch.autograd.graph.saved_tensors_hooks):
    def __init__(self):
        super().__init__(self.pack, lambda packed: packed.cuda())

    def pack(self, tensor):
        if tensor.numel() < 1 << 20:
            return tensor
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            packed = tensor.to("cpu", non_blocking=True)
        tensor.record_stream(side)
        return packed

for step in range(6):
    with Offloaded():
        train(torch.randn(16, 3, 128, 128, device="cuda"))
"""

FSDP = """
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.testing._internal.distributed.fake_pg import FakeStore

dist.init_process_group("fake", rank=0, world_size=8, store=FakeStore())
layers = [nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True) for _ in range(6)]
policy = ModuleWrapPolicy({nn.TransformerEncoderLayer})
model = FullyShardedDataParallel(nn.Sequential(*layers), auto_wrap_policy=policy, device_id=0)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(5):
    model(torch.randn(4, 128, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def check_timing_range(run):
    needs = run.needs
    low, high = needs["timing_range_bytes"]
    assert run.code == 0, run.text
    assert (run.estimate["verdict"], len(run.estimate["runs"])) == ("fits", 2)
    assert low == needs["unconstrained_bytes"] == run.peak["reserved_bytes"]
    assert low < high
    assert "from run to run: block reuse depends on kernel timing" in run.text
    return low, high


def test_a_prefetching_side_stream_has_a_timing_range(estimate):
    low, high = check_timing_range(estimate(MODEL + PREFETCHES.replace("SYNCHRONISE", "")))
    # Each batch is 6 MiB of the side stream's 20 MiB segments. About 30 launches per step let the host be some 30 steps
    # ahead, 10 segments; they come in whole segments.
    assert (high - low) % (20 * MIB) == 0
    assert 3 * 20 * MIB <= high - low <= 20 * 20 * MIB


def test_a_side_stream_that_is_waited_for_in_every_step_does_not_move(estimate):
    run = estimate(MODEL + PREFETCHES.replace("SYNCHRONISE", "torch.cuda.synchronize()"))
    assert run.needs["timing_range_bytes"] is None
    assert len(run.estimate["runs"]) == 2  # it has such blocks, and it took a run to see that they do not matter


def test_offloading_on_a_side_stream_has_a_timing_range(estimate):
    check_timing_range(estimate(MODEL + OFFLOADS, "--until-exit"))


def test_fully_sharded_training_has_a_timing_range(estimate):
    low, high = check_timing_range(estimate(FSDP, "--until-exit"))
    # A layer has 3.15 million parameters, 12 MiB unsharded; FSDP lets the host be two layers ahead.
    assert high - low <= 6 * 20 * MIB


@pytest.mark.parametrize("job", [MODEL + PINNED, MODEL + "for _ in range(6): train(torch.randn(16, 3, 64, 64).cuda())"])
def test_ordinary_jobs_have_no_timing_range_and_run_once(estimate, job):
    run = estimate(job)
    assert (run.estimate["verdict"], run.needs["timing_range_bytes"]) == ("fits", None)
    assert len(run.estimate["runs"]) == 1


def test_loops_that_poll_an_event_end_when_events_are_late(estimate_with, tmp_path):
    polls = """
        import time, torch
        x = torch.randn(8 << 20, device="cuda")
        event = torch.cuda.Event()
        (x + 1).sum()
        event.record()
        assert not event.query()
        while not event.query():
            time.sleep(0.001)
        while not torch.cuda.current_stream().query():
            pass
        event.record()
        assert event.query()
        print("done")
    """
    found = estimate_with(polls, {"events": "late"})
    assert (found.verdict, (tmp_path / "output").read_text()) == ("fits", "done\n")


def test_the_simulation_reproduces_pytorch_on_the_emulated_device(estimate, tmp_path):
    from veritasest.analysis.allocator.history import histories, reproduce

    run = estimate(MODEL + PREFETCHES.replace("SYNCHRONISE", ""), "--steps", "3", "--save", "saved")
    ((_, rows),) = histories(trace_of(tmp_path / "saved").events).items()
    found = reproduce(rows)
    assert found is not None
    assert found.peak_bytes == run.peak["reserved_bytes"]
    assert len({stream for _, _, _, stream in rows}) == 2


# Evaluation at a larger batch finds equal blocks in several segments; which one it takes decides what is left whole.
EVALUATES = """
import torch
from torch import nn

convolutions = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2))
classifier = nn.Sequential(nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10), nn.LogSoftmax(dim=1))
model = nn.Sequential(convolutions, nn.Dropout(0.25), nn.Flatten(), classifier).cuda()
optimizer = torch.optim.Adadelta(model.parameters())
for step in range(4):
    optimizer.zero_grad()
    model(torch.randn(64, 1, 28, 28).cuda()).mean().backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    for batch in range(2):
        model(torch.randn(1000, 1, 28, 28).cuda()).sum().item()
"""


def test_other_addresses_give_what_the_simulation_says(estimate_with):
    """An H200 shows both figures for `pytorch/examples` mnist, whose layers and batches these are."""
    usual = estimate_with(EVALUATES, {}, until_exit=True)
    other = estimate_with(EVALUATES, {"addresses": "upwards"}, until_exit=True)
    low, high = usual.needs.address_range_bytes
    assert (usual.peak.reserved_bytes, other.peak.reserved_bytes) == (low, high)
    assert other.needs.address_range_bytes == (low, high)
    assert (usual.needs.timing_range_bytes, len(usual.runs)) == (None, 1)
