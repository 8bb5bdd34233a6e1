"""The private names of PyTorch that we use exist, and one that does not is noticed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import torch

import veritasest.engines.emulated.steering as steering
from veritasest.engines.emulated.steering import install
from veritasest.engines.emulated.steering.settings import SteeringSettings
from veritasest.engines.emulated.torch_names import TORCH_NAMES, missing_names
from veritasest.trace.writer import TraceWriter


def test_the_installed_pytorch_has_every_name() -> None:
    assert missing_names(torch, "steering") == []
    for entry in TORCH_NAMES:
        found = torch
        for word in entry.name.split("."):
            found = getattr(found, word)


def test_every_private_name_in_the_code_is_in_the_table() -> None:
    folder = Path(steering.__file__).parent
    text = "\n".join(path.read_text() for path in folder.rglob("*.py"))
    used = set(re.findall(r"torch\.(_C\.\w+|_(?!_)[a-z]\w+)", text))
    assert len(used) > 10
    assert used - {entry.name for entry in TORCH_NAMES} == set()


def test_values_stay_off_and_the_missing_name_is_reported(tmp_path: Path) -> None:
    old = SimpleNamespace(
        __version__="2.4.0", library=SimpleNamespace(), _C=torch._C, Tensor=torch.Tensor, ops=torch.ops
    )
    with TraceWriter(tmp_path / "trace") as trace:
        assert install.start(old, trace, SteeringSettings(mode="auto")) is None
        assert install.start(old, trace, SteeringSettings(mode="off")) is None
    (record,) = map(json.loads, (tmp_path / "trace").read_text().splitlines())
    assert record["kind"] == "unmodelled"
    assert record["name"] == "values that control the program, with torch 2.4.0 (no torch.library.get_kernel)"
