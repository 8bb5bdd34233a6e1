"""The emulated cuDNN against sizes recorded on an H200, on configurations held out when its models were fitted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.emulated_device import why_unavailable
from benchmarks.workspaces import score_cudnn
from prerequisites import missing


@pytest.fixture(scope="module")
def scored() -> list[tuple[score_cudnn.Row, float]]:
    """Every recorded configuration and how many bytes the emulated answer is off."""
    if reason := why_unavailable():
        raise missing(f"no emulated device: {reason}")
    return list(score_cudnn.scores())


def is_static(row: score_cudnn.Row) -> bool:
    return row.get("algo") == "persist_static"


def of(call: str, **fields: object) -> Callable[[score_cudnn.Row], bool]:
    return lambda row: row["call"] == call and all(row[name] == value for name, value in fields.items())


@pytest.mark.parametrize(
    ("kind", "least"),
    [
        (of("rnn", algo="standard", dtype="fp32"), 70),
        (of("rnn", algo="standard", dtype="fp16"), 40),
        (of("rnn", algo="standard", dtype="bf16"), 20),
        (of("rnn", algo="persist_small_h"), 40),
        (of("batch_norm", mode="spatial"), 60),
        (of("batch_norm", mode="spatial_persistent"), 100),
        (of("ctc_old"), 40),
        (of("ctc_v8"), 40),
    ],
)
def test_sizes_of_unseen_configurations_are_exact(
    scored: list[tuple[score_cudnn.Row, float]], kind: Callable[[score_cudnn.Row], bool], least: int
) -> None:
    offs = [off for row, off in scored if kind(row) and score_cudnn.is_unseen(row)]
    assert len(offs) >= least
    assert [off for off in offs if off] == []


def test_only_static_persistent_networks_are_ever_off(scored: list[tuple[score_cudnn.Row, float]]) -> None:
    assert [row for row, off in scored if off and not is_static(row)] == []


def test_static_persistent_networks_are_exact_above_256_tokens(
    scored: list[tuple[score_cudnn.Row, float]],
) -> None:
    long = [off for row, off in scored if is_static(row) and int(row["batch"]) * int(row["steps"]) > 256]  # type: ignore[call-overload]
    assert len(long) > 20
    assert max(long) == 0


def test_a_fifth_is_held_out() -> None:
    rows = [row for name in score_cudnn.RECORDINGS for row in score_cudnn.recorded(name)]
    # 1,176 recurrent networks and 1,436 others
    assert len(rows) == 2612
    assert sum(map(score_cudnn.is_unseen, rows)) / len(rows) == pytest.approx(0.2, abs=0.02)
