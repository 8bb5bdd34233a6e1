"""Values that are not computed are assumed by a stated policy, and every line that reads one is listed."""

import re

# Lines that read values which are not computed say how, in a comment.
READS = """
import io
import torch

model = torch.nn.Sequential(torch.nn.Embedding(4200, 4096), torch.nn.Linear(4096, 8)).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
large = model[0].weight  # 17 M elements: more than are ever computed

for step in range(2):
    loss = model(torch.randint(4200, (4, 8)).cuda()).square().mean()
    print("loss", loss.item())  # number
    print("copied", loss.detach().cpu())  # copy
    if loss < 0.75:  # number
        print("below")
    assert torch.isfinite(loss)  # number
    loss.backward()
    assert not large.grad.isnan().any()  # number
    assert torch.isfinite(large.grad).all()  # number
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)  # number
    optimizer.step()
    optimizer.zero_grad()
torch.save({"model": model[1].state_dict(), "optimizer": optimizer.state_dict()}, io.BytesIO())

known = torch.zeros(8).cuda()
unknown = model[1](torch.ones(8, 4096).cuda())[:, 0].detach()
places = torch.arange(8).cuda()
for mix in ("index_add", "index_copy", "scatter", "scatter_add"):
    assert getattr(known, mix)(0, places, unknown).max() > 0  # number

weight = torch.nn.Linear(8, 8, device="cuda").weight  # drawn there, but a weight as those from the host
assert weight.detach().sum() > 0  # number
assert torch.rand(8, 8, device="cuda").sum() > 1  # drawn and no weight: known

rounds = 0
while model(torch.zeros(1, 1, dtype=torch.long).cuda()).square().mean().item() > 1e-6:  # number
    rounds += 1
print("rounds", rounds)
"""

SCALED = """
import torch

net = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.Adam(net.parameters())
scaler = torch.amp.GradScaler("cuda")
for step in range(3):
    with torch.autocast("cuda", torch.float16):
        loss = net(torch.randn(8, 64).cuda()).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # number
    scaler.update()
print("state of", len(optimizer.state), "parameters, scale", scaler.get_scale())
"""

CHOSEN = """
import torch

net = torch.nn.Linear(64, 64).cuda()
scores = net(torch.randn(1000, 64).cuda())
print("chosen", scores[scores > 3].shape[0], "mean", scores.mean().item())
"""

MIXTURE = """
import torch
from torch.utils.checkpoint import checkpoint

class Mixture(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(128, 8)
        self.experts = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(128, 512), torch.nn.GELU(), torch.nn.Linear(512, 128)) for _ in range(8)
        )

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            row, place = torch.where(chosen == number)  # size
            print("expert got", row.numel())
            out = out.index_add(0, row, weights[row, place, None] * expert(x[row]))
        return out

model = torch.nn.Sequential(Mixture(), Mixture()).cuda()
optimizer = torch.optim.Adam(model.parameters())
for reentrant in (False, True):
    x = torch.randn(4096, 128).cuda().requires_grad_()
    for block in model:
        x = checkpoint(block, x, use_reentrant=reentrant)
    x.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


# The backward pass of an indexing operation counts its mask again. torchvision has registered its operators early.
MASKED = """
import torch
import torchvision

class Positive(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * grad[grad > 0.25].shape[0]  # size

net = torch.nn.Linear(64, 64).cuda()
for step in range(2):
    scores = Positive.apply(net(torch.randn(1000, 64).cuda()))
    chosen = scores[scores > 0.5]  # size
    chosen.square().mean().backward()
    with torch.autograd.set_multithreading_enabled(False):
        net(torch.randn(10, 64).cuda())[:, torch.arange(64, device="cuda") > 9].sum().backward()
"""

# An operator that is in no table, as one of a new PyTorch version would be.
UNCLASSIFIED = """
import torch
from veritasest.engines.emulated.steering.operators import table

table.NAMES = tuple((kind, text.replace(" flip ", " ")) for kind, text in table.NAMES)
numbers = torch.arange(4.0).cuda()
for _ in range(2):
    print("first", numbers.flip(0)[0].item())
print("still known", numbers[3].item())
"""


def marked(script):
    """(line, how) of every line whose comment says that it reads an unknown value."""
    lines = enumerate(script.splitlines(), start=1)
    return {
        (number, line.rsplit("# ", 1)[1]) for number, line in lines if line.endswith(("# number", "# copy", "# size"))
    }


def listed(run):
    assert {value["file"].rsplit("/", 1)[1] for value in run.estimate["assumed"]} <= {"train.py"}
    return {(value["line"], value["how"]) for value in run.estimate["assumed"]}


def test_every_line_that_reads_assumed_values_is_listed_and_no_other(estimate):
    run = estimate(READS, "--until-exit")
    assert run.code == 0, run.text
    assert listed(run) == marked(READS)
    given = {value["code"].split("  #")[0]: value["value"] for value in run.estimate["assumed"]}
    assert given['print("loss", loss.item())'] == 0.5
    assert given["assert torch.isfinite(loss)"] is True
    assert given["assert not large.grad.isnan().any()"] is False
    # A loss that is printed does not matter to memory; a comparison may.
    printed, compared = (
        next(value for value in run.estimate["assumed"] if value["code"].startswith(code)) for code in ("print", "if")
    )
    assert (printed["matters"], compared["matters"]) == (False, True)
    assert f"{compared['file']}:{compared['line']} read a value that was not computed" in run.text
    assert f"{printed['file']}:{printed['line']} read" not in run.text
    assert b"below" in run.stdout


def test_a_loop_that_waits_for_a_small_loss_ends(estimate):
    run = estimate(READS, "--until-exit", "--assume", "scalar=0.25")
    assert b"loss 0.25" in run.stdout
    # 0.25 a hundred times, then halved until it is below 1e-6: after 18 more.
    assert b"rounds 117" in run.stdout


def test_loss_scaling_takes_its_steps_unless_gradients_are_assumed_to_overflow(estimate):
    usual, overflowing = estimate(SCALED, "--until-exit"), estimate(SCALED, "--until-exit", "--assume", "finite=no")
    assert b"state of 2 parameters, scale 65536.0" in usual.stdout
    assert marked(SCALED) <= listed(usual)
    # Three steps skipped, each halves the scale: 65,536 / 8.
    assert b"state of 0 parameters, scale 8192.0" in overflowing.stdout
    assert overflowing.peak["allocated_bytes"] < usual.peak["allocated_bytes"]


def test_a_mask_selects_its_assumed_fraction(estimate):
    run = estimate(CHOSEN, "--assume", "mask=0.25", "--assume", "scalar=0.125")
    assert run.code == 0, run.text
    (found,) = re.findall(rb"chosen (\d+) mean 0.125", run.stdout)
    assert 0.24 < int(found) / 64_000 < 0.26


def test_experts_share_the_tokens_evenly_also_when_recomputed_for_the_backward_pass(estimate):
    run = estimate(MIXTURE, "--until-exit")
    assert run.code == 0, run.text
    assert listed(run) == marked(MIXTURE)
    # 4,096 tokens choose two of eight experts: about 1,024 each.
    counts = [int(count) for count in re.findall(rb"expert got (\d+)", run.stdout)]
    assert len(counts) > 2 * 2 * 8
    assert all(900 < count < 1150 for count in counts)
    low, high = run.needs["assumed_range_bytes"]
    assert low <= run.needs["unconstrained_bytes"] <= high
    assert low < high
    assert "veritasest run --values real --gpu h200" in run.text


def test_the_backward_pass_of_an_indexing_operation_is_not_listed_again(estimate):
    run = estimate(MASKED, "--until-exit")
    assert run.code == 0, run.text
    assert listed(run) == marked(MASKED)


def test_an_unclassified_operator_is_reported_and_its_results_are_assumed(estimate):
    run = estimate(UNCLASSIFIED, "--until-exit")
    assert run.code == 0, run.text
    assert b"first 0.5" in run.stdout
    assert b"still known 3.0" in run.stdout
    (entry,) = run.estimate["not_modelled"]
    assert (entry["library"], entry["name"], entry["how"]) == ("values", "aten::flip", "unclassified")
    assert entry["line"] == UNCLASSIFIED[: UNCLASSIFIED.index("print(")].count("\n") + 1
    assert [value["code"] for value in run.estimate["assumed"]] == ['print("first", numbers.flip(0)[0].item())']


def test_without_values_a_job_reads_zeros_and_nothing_is_listed(estimate):
    run = estimate(SCALED, "--until-exit", "--values", "off")
    assert run.code == 0, run.text
    assert run.estimate["assumed"] == []
    assert run.needs["assumed_range_bytes"] is None
