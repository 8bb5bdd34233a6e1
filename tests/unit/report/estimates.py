"""Estimates made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veritasest.gpus import find
from veritasest.spec.enums import FileMode, Purpose, Verdict
from veritasest.spec.estimate import (
    Estimate,
    FileChanges,
    GpuFacts,
    Needs,
    Observed,
    Peak,
    Provenance,
    RankEstimate,
    Run,
    Share,
)

GIB = 1 << 30
MIB = 1 << 20


def estimate(gpu: str = "rtx-4090", needs: Needs | None = None, **changes: Any) -> Estimate:
    """A job that reserved 6 GiB, and allocated 5."""
    target = find(gpu)
    known = needs or Needs()
    needs = replace(known, unconstrained_bytes=6 * GIB, process_bytes=6 * GIB + 608 * MIB)
    rank = RankEstimate(
        available_bytes=target.total_bytes - 608 * MIB,
        library_overhead_bytes=224 * MIB,
        peak=Peak(allocated_bytes=5 * GIB, reserved_bytes=6 * GIB, step=1),
        needs=needs,
        breakdown=(Share(label="parameters", bytes=4 * GIB), Share(label="gradients", bytes=1 * GIB)),
    )
    plain = Estimate(
        verdict=Verdict.FITS,
        gpu=GpuFacts(id=target.id, name=target.name, capacity_bytes=target.total_bytes, context_bytes=384 * MIB),
        ranks=(rank,),
        steps=4,
        settled=True,
        elapsed_s=12.0,
        observed=Observed(training_steps=4, to_the_end=True),
        files=FileChanges(mode=FileMode.OVERLAY),
        provenance=Provenance(
            command=("python", "train.py", "--name", "my run"),
            options=("--gpu", target.id),
            torch="2.11.0+cu130",
            veritasest="0.1.0",
            created="",
        ),
        runs=(
            Run(
                purpose=Purpose.CAPACITY,
                limit_bytes=None,
                verdict=Verdict.FITS,
                steps=4,
                elapsed_s=12.0,
                host_peak_bytes=None,
            ),
        ),
    )
    return replace(plain, **changes)
