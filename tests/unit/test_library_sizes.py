"""The built stand-ins for cuFFT, cuSOLVER and cuSPARSE against sizes recorded on an H200.

Only configurations that were kept aside while the formulas were found are asked here; see
`benchmarks/workspaces/score_libraries.py`, which prints the whole table.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

from veritasest.engines.emulated.libraries import installed
from veritasest.errors import UnsupportedEnvironment

SCORER = Path(__file__).parents[2] / "benchmarks" / "workspaces" / "score_libraries.py"
DENSE = ("potrf", "getrf", "geqrf", "orgqr", "ormqr", "sytrf", "syevd", "syevj", "syevjBatched", "gesvd", "gesvdj")
DENSE += ("gesvdjBatched", "gesvdaStridedBatched")
GENERIC = ("Xpotrf", "Xgeqrf", "Xsytrs", "Xsyevd", "XsyevBatched", "Xgeev")
TRANSFORMS = ("fft 1d", "fft 2d", "fft 3d")
# Least share of exact answers, as measured before any of these configurations had been looked at, rounded down:
# getrf 26 of 28; one-dimensional transforms 124 of 131; SpMM with PyTorch's algorithms 12 of 13; the rest all exact.
BARS = {
    **dict.fromkeys((*DENSE, *GENERIC, "SpSV", "SpSM", "SpMV csr", "SDDMM", "SpGEMM workEstimation"), 1.0),
    **dict.fromkeys(TRANSFORMS, 1.0),
    "getrf": 0.92,
    "fft 1d": 0.94,
    "SpMM csr": 0.92,
}


@pytest.fixture(scope="module")
def scorer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("score_libraries", SCORER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def answers(scorer: ModuleType) -> list[tuple[dict[str, object], dict[str, object]]]:
    """Unseen configurations as recorded, each with what the stand-ins say."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the stand-ins are built on Linux only")
    try:
        libraries = installed().libraries
    except UnsupportedEnvironment as absent:
        pytest.skip(f"no stand-ins to ask: {absent}")
    if not (libraries / "cu13" / "libcufft.so.12").exists():
        pytest.skip(f"no stand-ins for CUDA 13 in {libraries}")
    rows = [row for row in scorer.recorded() if scorer.is_unseen(row)]
    return list(zip(rows, scorer.ask_stand_ins(rows, libraries), strict=True))


@pytest.fixture(scope="module")
def errors(scorer: ModuleType, answers: list[tuple[dict[str, object], dict[str, object]]]) -> dict[str, list[int]]:
    """Bytes too many, by question; transforms by their number of dimensions."""
    found: dict[str, list[int]] = defaultdict(list)
    for row, told in answers:
        for question, error in scorer.errors_bytes(row, told):
            found[question[:6] if row["call"] == "fft" else question].append(error)
    return found


@pytest.mark.parametrize("question", BARS)
def test_sizes_of_shapes_not_used_for_fitting_are_exact(errors: dict[str, list[int]], question: str) -> None:
    exact = sum(error == 0 for error in errors[question])
    assert exact / len(errors[question]) >= BARS[question], f"{exact} of {len(errors[question])}"


def test_sorts_are_bounded_within_a_kibibyte(errors: dict[str, list[int]]) -> None:
    assert all(0 <= error <= 1024 for error in errors["csrsort"] + errors["coosort"])


def test_no_answer_is_below_the_recorded_size(errors: dict[str, list[int]]) -> None:
    assert {question: min(found) for question, found in errors.items() if min(found) < 0} == {}


def test_an_answer_that_is_not_exact_is_logged_as_a_guess(
    scorer: ModuleType, answers: list[tuple[dict[str, object], dict[str, object]]]
) -> None:
    silent = [row for row, told in answers if any(e for _, e in scorer.errors_bytes(row, told)) and not told["guessed"]]
    assert silent == []


def test_exact_models_are_not_logged(answers: list[tuple[dict[str, object], dict[str, object]]]) -> None:
    guessed = {str(row["call"]) for row, told in answers if told["guessed"]}
    assert guessed.isdisjoint({*DENSE, *GENERIC, "SpSV", "SpSM"})
