"""The options that ask for the same estimate again."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import veritasest
from veritasest.analysis.provenance import options
from veritasest.cli.options import api_options
from veritasest.cli.verbs.run import make_parser
from veritasest.gpus import find
from veritasest.spec.run import RunSpec
from veritasest.spec.stop import StopRule
from veritasest.spec.values import ValuePolicy

T4 = find("t4")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (RunSpec(gpu=T4, limit_bytes=1), "--gpu t4"),
        (RunSpec(gpu=T4.with_memory(16 << 30), limit_bytes=1), "--gpu t4 --memory 16GiB"),
        (RunSpec(gpu=T4.with_memory(1500 << 20), limit_bytes=1), "--gpu t4 --memory 1500MiB"),
        (RunSpec(gpu=T4.with_memory((1 << 30) + 1), limit_bytes=1), "--gpu t4 --memory 1073741825"),
        (RunSpec(gpu=T4, limit_bytes=1, stop=StopRule(steps=3), timeout_s=90.0), "--gpu t4 --steps 3 --timeout 90"),
        (RunSpec(gpu=T4, limit_bytes=1, stop=StopRule(until_exit=True)), "--gpu t4 --until-exit"),
        (RunSpec(gpu=T4, limit_bytes=1, stop=StopRule(budget_s=2.5)), "--gpu t4 --budget 2.5"),
        (
            RunSpec(gpu=T4, limit_bytes=1, values=ValuePolicy(mode="off", mask=0.25, scalar=1e-3, finite=False)),
            "--gpu t4 --values off --assume mask=0.25 --assume scalar=0.001 --assume finite=no",
        ),
    ],
)
def test_options_ask_for_the_same_run_and_are_accepted(run: RunSpec, words: str) -> None:
    assert " ".join(options(run)) == words
    assert api_options(make_parser().parse_args(words.split()))["gpu"] == "t4"


def test_an_estimate_names_the_options_of_the_user(job: Callable[[str], Path]) -> None:
    job("job.start(); job.reserve(5); job.end('exit')")
    found = veritasest.estimate(["train.py", "--lr", "1"], gpu="t4", memory="8GiB", until_exit=True, allow_writes=True)
    assert shlex.join(found.provenance.options) == "--gpu t4 --memory 8GiB --until-exit --allow-writes"
    assert found.provenance.command[-3:] == ("train.py", "--lr", "1")
