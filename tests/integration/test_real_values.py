"""`--values real`: the job's own numbers, computed on the CPU."""

import ast
import os
import subprocess
import sys

import pytest

from .conftest import PATIENCE_S

LEARNS = """
import os
import torch
from torch import nn
from torch.nn import functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.embed = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 16, batch_first=True)
        self.layer_norm = nn.LayerNorm(16)
        self.attend = nn.Linear(16, 48, bias=False)
        self.head = nn.Linear(24, 5)

    def forward(self, image, words):
        seen = F.relu(self.norm(self.conv(image))).mean((2, 3))
        read, _ = self.lstm(self.embed(words))
        q, k, v = self.attend(self.layer_norm(read)).view(len(words), -1, 3, 2, 8).permute(2, 0, 3, 1, 4)
        read = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2).mean(1)
        return self.head(torch.cat([seen, read], 1))

device = os.environ["DEVICE"]
torch.manual_seed(0)
model = Net().to(device)
optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
losses = []
for step in range(6):
    image, words, label = torch.randn(4, 3, 12, 12), torch.randint(20, (4, 6)), torch.randint(5, (4,))
    loss = F.cross_entropy(model(image.to(device), words.to(device)), label.to(device))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
print("losses", losses)
"""

# The picker keeps rows whose sum is above 4.5: three of six.
PICKS = """
import torch
from torch import nn

class Picker(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(4, 1)
        nn.init.constant_(self.score.weight, 1.0)
        nn.init.constant_(self.score.bias, -4.5)

    def forward(self, x):
        return x[self.score(x).squeeze(1) > 0]

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.picker = Picker()
        self.head = nn.Linear(4, 4)

    def forward(self, x):
        picked = self.picker(x)
        print("picked", len(picked))
        return self.head(picked)

out = Model().cuda()(torch.arange(24.0).view(6, 4).cuda() / 10)
print("mean", out.mean().item())
out.sum().backward()
"""


def losses(output):
    return ast.literal_eval(output.decode().split("losses ")[1].splitlines()[0])


def test_losses_equal_those_of_the_cpu_and_memory_equals_that_of_the_default_mode(estimate, script):
    real = estimate(LEARNS, "--until-exit", "--values", "real", DEVICE="cuda")
    default = estimate(LEARNS, "--until-exit", DEVICE="cuda")
    assert real.code == default.code == 0, real.text + default.text
    command = [sys.executable, str(script(LEARNS))]
    on_cpu = subprocess.check_output(command, env={**os.environ, "DEVICE": "cpu"}, timeout=PATIENCE_S)
    assert losses(real.stdout) == pytest.approx(losses(on_cpu), rel=1e-4)
    assert len(set(losses(real.stdout))) == 6
    assert real.peak == default.peak
    assert (real.estimate["assumed"], real.estimate["not_modelled"]) == ([], [])
    assert "real values: every operator also runs on the CPU" in real.stderr


def test_one_submodule_can_have_real_values(estimate):
    run = estimate(PICKS, "--until-exit", "--values", "real:picker")
    assert run.code == 0, run.text
    assert b"picked 3" in run.stdout
    assert [value["how"] for value in run.estimate["assumed"]] == ["number"]  # the mean, outside of the picker
    assert run.estimate["not_modelled"] == []


def test_a_submodule_that_does_not_exist_is_reported(estimate):
    job = "import torch\nnet = torch.nn.Linear(4, 4).cuda()\nnet(torch.ones(4).cuda()).sum().backward()\n"
    run = estimate(job, "--until-exit", "--values", "real:chooser")
    assert run.code == 0, run.text
    assert [item["name"] for item in run.estimate["not_modelled"]] == ["no module named 'chooser' was run"]
    assert "no module named 'chooser' was run" in run.text


def test_a_job_with_real_values_ends_at_the_host_memory_limit(estimate):
    job = "import torch\nkept = [torch.ones(4 << 20, device='cuda') for _ in range(8)]\nprint('not reached')\n"
    run = estimate(job, "--values", "real", "--host-memory", "64MiB")
    assert run.code == 4
    assert b"not reached" not in run.stdout
    assert run.estimate["verdict"] == "unsupported"
    assert run.estimate["failure"]["kind"] == "host_memory"
    assert "64.00 MiB" in run.estimate["failure"]["message"]
    assert "--host-memory" in run.estimate["failure"]["hint"]
