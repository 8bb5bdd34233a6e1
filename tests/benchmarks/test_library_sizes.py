"""The built stand-ins for cuFFT, cuSOLVER and cuSPARSE against sizes recorded on an H200.

Only configurations that were held out while the formulas were found are asked for here;
`benchmarks/workspaces/score_libraries.py` prints the whole table.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from benchmarks.emulated_device import library_folder, why_unavailable
from benchmarks.workspaces.score_libraries import ask_stand_ins, errors_bytes, is_unseen, recorded
from prerequisites import missing

DENSE = ("potrf", "getrf", "geqrf", "orgqr", "ormqr", "sytrf", "syevd", "syevj", "syevjBatched", "gesvd", "gesvdj")
DENSE += ("gesvdjBatched", "gesvdaStridedBatched")
GENERIC = ("Xpotrf", "Xgeqrf", "Xsytrs", "Xsyevd", "XsyevBatched", "Xgeev")
TRANSFORMS = ("fft 1d", "fft 2d", "fft 3d")
# Least share of exact answers, as measured the first time these configurations were scored, rounded down:
# getrf 26 of 28; one-dimensional transforms 124 of 131; SpMM with PyTorch's algorithms 12 of 13; the rest all exact.
TARGETS = {
    **dict.fromkeys((*DENSE, *GENERIC, "SpSV", "SpSM", "SpMV csr", "SDDMM", "SpGEMM workEstimation"), 1.0),
    **dict.fromkeys(TRANSFORMS, 1.0),
    "getrf": 0.92,
    "fft 1d": 0.94,
    "SpMM csr": 0.92,
}


Answered = list[tuple[dict[str, object], dict[str, object]]]


@pytest.fixture(scope="module")
def answers() -> Answered:
    """Unseen configurations as recorded, each with the answer of the stand-ins."""
    if reason := why_unavailable():
        raise missing(f"no stand-in libraries: {reason}")
    libraries = library_folder()
    if not (libraries / "cu13" / "libcufft.so.12").exists():
        raise missing(f"no stand-in libraries for CUDA 13 in {libraries}")
    rows = [row for row in recorded() if is_unseen(row)]
    return list(zip(rows, ask_stand_ins(rows, libraries), strict=True))


@pytest.fixture(scope="module")
def errors(answers: Answered) -> dict[str, list[int]]:
    """Bytes too many, by question; transforms by their number of dimensions."""
    found: dict[str, list[int]] = defaultdict(list)
    for row, answer in answers:
        for question, error in errors_bytes(row, answer):
            found[question[:6] if row["call"] == "fft" else question].append(error)
    return found


@pytest.mark.parametrize("question", TARGETS)
def test_sizes_of_shapes_not_used_for_fitting_are_exact(errors: dict[str, list[int]], question: str) -> None:
    exact = sum(error == 0 for error in errors[question])
    assert exact / len(errors[question]) >= TARGETS[question], f"{exact} of {len(errors[question])}"


def test_sorts_are_bounded_within_a_kibibyte(errors: dict[str, list[int]]) -> None:
    assert all(0 <= error <= 1024 for error in errors["csrsort"] + errors["coosort"])


def test_no_answer_is_below_the_recorded_size(errors: dict[str, list[int]]) -> None:
    assert {question: min(found) for question, found in errors.items() if min(found) < 0} == {}


def test_answer_that_is_not_exact_is_logged_as_a_guess(answers: Answered) -> None:
    silent = [row for row, answer in answers if any(e for _, e in errors_bytes(row, answer)) and not answer["guessed"]]
    assert silent == []


def test_exact_models_are_not_logged_as_guesses(answers: Answered) -> None:
    guessed = {str(row["call"]) for row, answer in answers if answer["guessed"]}
    assert guessed.isdisjoint({*DENSE, *GENERIC, "SpSV", "SpSM"})
