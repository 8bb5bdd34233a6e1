"""Sizes that were measured on one GPU: exact there, reported as guesses with a range on another."""

import json

import pytest

LSTM = """
import torch

model = torch.nn.LSTM(256, 512, num_layers=2, dropout=0.1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    outputs, _ = model(torch.randn(64, 32, 256, device="cuda"))
    outputs.square().mean().backward()
    optimizer.step()
"""

# Convolutions, batch normalisation and a matrix product: nothing in it is modelled, all of it is asked of the real
# libraries or decided by PyTorch.
CNN = """
import torch
from torch import nn

layers = [nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 1), nn.BatchNorm2d(64)]
model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(8, 3, 64, 64, device="cuda")).square().mean().backward()
    optimizer.step()
"""


def test_a_recurrent_network_on_another_gpu_has_guessed_sizes_and_a_range(estimate):
    found = estimate(LSTM, "--gpu", "rtx-4090").estimate
    assert found["verdict"] == "fits"
    guessed = {(item["library"], item["name"]): item["how"] for item in found["not_modelled"]}
    assert guessed == {
        ("cudnn", "cudnnGetRNNTempSpaceSizes"): "bounded",
        ("cudnn", "cudnnDropoutGetStatesSize"): "bounded",
    }
    needs = found["ranks"][0]["needs"]
    low, high = needs["guessed_range_bytes"]
    assert low < needs["unconstrained_bytes"] < high


def test_the_same_network_on_the_measured_gpu_has_none(estimate):
    found = estimate(LSTM, "--gpu", "h200").estimate
    assert found["verdict"] == "fits"
    assert found["not_modelled"] == []
    assert found["ranks"][0]["needs"]["guessed_range_bytes"] is None


@pytest.mark.parametrize("gpu", ["rtx-4090", "h100"])
def test_a_plain_network_has_nothing_to_guess(estimate, gpu):
    found = estimate(CNN, "--gpu", gpu).estimate
    assert found["verdict"] == "fits"
    assert found["not_modelled"] == []
    assert found["ranks"][0]["needs"]["guessed_range_bytes"] is None


# A Hopper part with fewer multiprocessors than the 132 of the measured one, in the user's own catalogue.
H20 = {
    "id": "h20",
    "name": "NVIDIA H20",
    "aliases": [],
    "compute_capability": "9.0",
    "sm_count": 78,
    "total_bytes": 102 << 30,
    "total_bytes_range": None,
    "context_bytes": 400 << 20,
    "bus_bits": 6144,
    "clock_khz": 1980000,
    "memory_clock_khz": 3201000,
    "l2_bytes": 62914560,
    "evidence": {"total_bytes": "assumed", "context_bytes": "assumed"},
    "source": "made up for this test",
}

WIDE_CNN = CNN.replace("nn.Conv2d(3, 32, 3)", "nn.Conv2d(3, 32, 3), nn.Conv2d(32, 256, 3), nn.Conv2d(256, 32, 3)")


@pytest.mark.parametrize(("gpu", "guessed"), [("h200", False), ("h20", True)])
def test_a_hopper_part_with_other_multiprocessors_has_guessed_convolutions(estimate, tmp_path, gpu, guessed):
    catalogue = tmp_path / "config/veritasest/gpus.jsonl"
    catalogue.parent.mkdir(parents=True)
    catalogue.write_text(json.dumps(H20) + "\n")
    found = estimate(WIDE_CNN, "--gpu", gpu, XDG_CONFIG_HOME=str(tmp_path / "config")).estimate
    names = {item["name"]: item["how"] for item in found["not_modelled"]}
    assert (names.get("workspace of a cluster engine") == "bounded") == guessed
    assert (found["ranks"][0]["needs"]["guessed_range_bytes"] is not None) == guessed
