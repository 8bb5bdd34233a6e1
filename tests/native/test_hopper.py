"""The rule for Hopper's convolution workspaces (native/cudnn/hopper.c) on plans recorded on an H200.

truth/h200_convs_handle.txt.gz has the plans and their workspaces on the GPU, truth/deviceless_convs.jsonl the
workspaces that the same cuDNN gives for the same plans without a device. None of them was used to derive the rule.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from asking import LIBRARIES, Gpu, ask

from veritasest.engines.emulated.facts import load

TRUTH = Path(__file__).parents[2] / "benchmarks/workspaces/truth"
NUMBERS = {fact.name: fact.number for fact in load(LIBRARIES)}
PLAN, CLUSTER = NUMBERS["CUDNN_PLAN"], NUMBERS["CUDNN_CLUSTER_PLAN"]
H200, H20 = Gpu(cc=90, sms=132), Gpu(cc=90, sms=78)


@dataclass(frozen=True, kw_only=True)
class Recorded:
    text: str
    on_gpu_bytes: int
    deviceless_bytes: int


@dataclass(frozen=True, kw_only=True)
class Ruled:
    """What the rule says: a base, and a part that is exact where a row of the facts was measured."""

    base: int
    fact: int
    unrecorded: int
    bytes: int
    most: int

    @property
    def total_bytes(self) -> int:
        return self.base + self.bytes


@cache
def recorded() -> tuple[Recorded, ...]:
    """Every plan, paired with its device-less answer by the convolution's number and its place among its plans."""
    lines = (TRUTH / "deviceless_convs.jsonl").read_text().splitlines()
    deviceless = {row["index"]: row["bytes"] for row in map(json.loads, lines[1:])}
    found: list[Recorded] = []
    answers: list[int] = []
    with gzip.open(TRUTH / "h200_convs_handle.txt.gz", "rt") as log:
        for line in log:
            status, _, rest = line.partition(" ws=")
            if line.startswith("CONV "):
                assert not answers, "a plan without a pair"
                answers = list(deviceless[json.loads(line[5:])["index"]])
            elif status.isdigit() and rest:
                size, _, text = rest.partition(" ")
                found.append(Recorded(text=text, on_gpu_bytes=int(size), deviceless_bytes=answers.pop(0)))
    return tuple(found)


@cache
def ruled(gpu: Gpu, sm_version: int = 900) -> tuple[Ruled, ...]:
    here, there = '"smVersion":900', f'"smVersion":{sm_version}'
    questions = [("plan", (plan.text.replace(here, there), plan.deviceless_bytes)) for plan in recorded()]
    return tuple(Ruled(**answer) for answer in ask(questions, gpu=gpu).answers)


def test_cluster_engines_have_exactly_the_recorded_workspace() -> None:
    pairs = [(plan, rule) for plan, rule in zip(recorded(), ruled(H200), strict=True) if rule.fact == CLUSTER]
    known = [(plan, rule) for plan, rule in pairs if not rule.unrecorded]
    assert len(pairs) == 353
    assert len(known) == 351  # two have a cluster size that no plan was fitted on
    assert [plan for plan, rule in known if rule.total_bytes != plan.on_gpu_bytes] == []


def test_the_rule_makes_98_percent_of_all_plans_exact() -> None:
    plans = recorded()
    assert len(plans) == 2235
    assert sum(plan.on_gpu_bytes == plan.deviceless_bytes for plan in plans) == 2016
    exact = sum(rule.total_bytes == plan.on_gpu_bytes for plan, rule in zip(plans, ruled(H200), strict=True))
    assert exact == 2193


def test_the_bounds_for_other_gpus_hold_the_recorded_workspaces() -> None:
    for plan, rule in zip(recorded(), ruled(H200), strict=True):
        if rule.fact == CLUSTER and not rule.unrecorded:
            assert rule.base <= plan.on_gpu_bytes <= rule.base + rule.most
            assert rule.base <= plan.deviceless_bytes


def test_a_part_with_fewer_multiprocessors_gets_the_same_size_within_other_bounds() -> None:
    pairs = [pair for pair in zip(ruled(H200), ruled(H20), strict=True) if pair[0].fact == CLUSTER]
    assert all((one.base, one.bytes) == (other.base, other.bytes) for one, other in pairs)
    assert any(other.most < one.most for one, other in pairs)
    assert all(other.most <= one.most for one, other in pairs)


def test_plans_of_other_architectures_keep_the_answer_of_cudnn() -> None:
    assert {(rule.fact, rule.bytes) for rule in ruled(H200, sm_version=890)} == {(PLAN, 0)}
    assert all(
        rule.total_bytes == plan.deviceless_bytes
        for plan, rule in zip(recorded(), ruled(H200, sm_version=890), strict=True)
    )
