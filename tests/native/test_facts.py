"""Every row of native/facts/facts.def: exact where it was measured, a guess with the row's bounds elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from asking import LIBRARIES, Gpu, Reply, ask

from veritasest.engines.emulated.facts import Fact, load, markdown, versions

ROOT = Path(__file__).parents[2]
FACTS = load(LIBRARIES)
SIZES = [fact for fact in FACTS if fact.kind == "size"]
OTHERS = [fact for fact in FACTS if fact.kind != "size"]

H200 = Gpu(cc=90, sms=132)
RTX_4090 = Gpu(cc=89, sms=128)
H20 = Gpu(cc=90, sms=78)
GH200 = Gpu(cc=90, sms=132, name="NVIDIA GH200 480GB")
SIZE = 1_000_003  # not a multiple of anything, so that rounding shows
BIG = 1 << 40


@cache
def asked(
    gpu: Gpu, *, guesses: str | None = None, newer: int = 0, unrecorded: bool = False, most: int = 0, size: int = SIZE
) -> Reply:
    """Every row looked up at once, each under its own name; `newer` is added to the version of the library."""
    questions = [("fact", (fact.number, fact.name, fact.version + newer, unrecorded, most, size)) for fact in FACTS]
    return ask(questions, gpu=gpu, guesses=guesses)


def guessed(reply: Reply, fact: Fact) -> str | None:
    return reply.guesses.get((fact.library, fact.name))


def by_name(facts: Iterable[Fact]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("fact", facts, ids=lambda fact: fact.name)


@by_name(FACTS)
@pytest.mark.parametrize("guesses", [None, "low", "high"])
def test_a_fact_is_exact_where_it_was_measured(fact: Fact, guesses: str | None) -> None:
    reply = asked(H200, guesses=guesses, most=BIG)
    assert reply.answers[fact.number] == SIZE
    assert guessed(reply, fact) is None


@by_name(SIZES)
@pytest.mark.parametrize(
    ("gpu", "newer"),
    [(RTX_4090, 0), (H20, 0), (GH200, 0), (H200, 1)],
    ids=["another architecture", "another number of multiprocessors", "a GH200", "another version of the library"],
)
def test_a_size_measured_elsewhere_is_a_guess_with_the_bounds_of_its_row(fact: Fact, gpu: Gpu, newer: int) -> None:
    low, high = fact.elsewhere.around(SIZE)
    assert (low, high) != (SIZE, SIZE), "a guess needs bounds"
    usual = asked(gpu, newer=newer)
    assert usual.answers[fact.number] == SIZE
    assert guessed(usual, fact) == ("bounded" if low < SIZE else "bounded above")
    assert asked(gpu, newer=newer, guesses="low").answers[fact.number] == low
    assert asked(gpu, newer=newer, guesses="high").answers[fact.number] == high


@by_name(OTHERS)
@pytest.mark.parametrize("guesses", [None, "low", "high"])
def test_overhead_and_documented_sizes_never_become_guesses(fact: Fact, guesses: str | None) -> None:
    reply = asked(RTX_4090, guesses=guesses, newer=1, most=BIG)
    assert reply.answers[fact.number] == SIZE
    assert guessed(reply, fact) is None


@by_name(SIZES)
def test_a_shape_that_was_not_recorded_is_a_guess_where_the_fact_was_measured(fact: Fact) -> None:
    low, high = fact.other_shapes.around(SIZE)
    assert guessed(asked(H200, unrecorded=True), fact) == ("bounded" if low < SIZE else "bounded above")
    assert asked(H200, unrecorded=True, guesses="low").answers[fact.number] == low
    assert asked(H200, unrecorded=True, guesses="high").answers[fact.number] == high


@by_name(SIZES)
def test_elsewhere_such_a_shape_has_the_wider_of_both_bounds(fact: Fact) -> None:
    bounds = [spread.around(SIZE) for spread in (fact.other_shapes, fact.elsewhere)]
    assert asked(RTX_4090, unrecorded=True, guesses="low").answers[fact.number] == min(low for low, _ in bounds)
    assert asked(RTX_4090, unrecorded=True, guesses="high").answers[fact.number] == max(high for _, high in bounds)


@by_name(SIZES)
def test_a_larger_upper_bound_of_the_caller_holds_elsewhere(fact: Fact) -> None:
    assert asked(RTX_4090, guesses="high", most=BIG).answers[fact.number] == BIG


@by_name(SIZES)
def test_no_lower_bound_is_below_nothing(fact: Fact) -> None:
    assert asked(RTX_4090, guesses="low", size=0).answers[fact.number] == 0


@by_name(FACTS)
def test_the_evidence_is_in_the_repository_or_says_why_there_is_none(fact: Fact) -> None:
    if fact.kind == "everywhere":
        assert not fact.cc
        assert len(fact.evidence) > 40
        return
    pattern = fact.evidence.split(":")[0].split(";")[0]
    assert list(ROOT.glob(f"{pattern}*")), pattern  # also compressed


def test_names_of_facts_are_unique() -> None:
    assert len({fact.name for fact in FACTS}) == len(FACTS) > 20


def test_the_table_for_the_documentation_has_a_line_for_every_fact() -> None:
    lines = markdown(FACTS).splitlines()
    assert len(lines) == len(FACTS) + 2
    assert {line.count(" | ") for line in lines[2:]} <= {6}
    assert any(
        "| cudnn | workspace of a recurrent network | size | sm_90, 132 SMs, cuDNN 9.19 |" in one for one in lines
    )


# Real functions of the libraries, asked as a program would. CUFFT_C2C is 0x29; a million points fit no shared memory,
# so two kernels need a copy: 8 bytes a point. 1,024 points need no work area.
def fft(points: int, cuda: int = 13) -> tuple[str, tuple[Any, ...]]:
    return "call", (f"cu{cuda}/libcufft.so.{cuda - 1}", "cufftEstimate1d", (points, 0x29, 1), ("size_t",))


def cholesky(cuda: int = 13) -> tuple[str, tuple[Any, ...]]:
    # Handle, upper triangle, n, matrix, leading dimension; 128 + 32 x 4 bytes are 64 elements.
    arguments = (None, 1, 64, None, 64)
    return "call", (f"cu{cuda}/libcusolver.so.{cuda - 1}", "cusolverDnSpotrf_bufferSize", arguments, ("int",))


def test_transforms_and_factorisations_are_exact_on_the_measured_gpu() -> None:
    reply = ask([fft(1 << 20), fft(1024), cholesky()], gpu=H200)
    assert reply.answers == ([0, 8 << 20], [0, 0], [0, 64])
    assert reply.guesses == {}


@pytest.mark.parametrize(("gpu", "cuda"), [(RTX_4090, 13), (H20, 13), (H200, 12)])
def test_transforms_and_factorisations_are_guesses_elsewhere(gpu: Gpu, cuda: int) -> None:
    reply = ask([fft(1 << 20, cuda), cholesky(cuda)], gpu=gpu)
    assert reply.answers == ([0, 8 << 20], [0, 64])
    assert reply.guesses == {
        ("cufft", "cufftEstimate1d"): "bounded",
        ("cusolver", "cusolverDnSpotrf_bufferSize"): "bounded",
    }


def test_a_transform_without_work_area_may_need_a_copy_of_its_data_elsewhere() -> None:
    assert ask([fft(1024)], gpu=RTX_4090, guesses="high").answers == ([0, 1024 * 8],)
    assert ask([fft(1024)], gpu=RTX_4090, guesses="low").answers == ([0, 0],)


PROPERTIES = {  # file name by CUDA major, function that tells one part of the version
    "cublas": ("libcublas.so.{0}", "cublasGetProperty"),
    "cublaslt": ("libcublasLt.so.{0}", "cublasLtGetProperty"),
    "cufft": ("libcufft.so.{1}", "cufftGetProperty"),
    "cusolver": ("libcusolver.so.{1}", "cusolverGetProperty"),
    "cusparse": ("libcusparse.so.12", "cusparseGetProperty"),
    "curand": ("libcurand.so.10", "curandGetProperty"),
}


@pytest.mark.parametrize("cuda", [12, 13])
@pytest.mark.parametrize("library", PROPERTIES)
def test_a_library_reports_the_version_of_the_table(library: str, cuda: int) -> None:
    file, function = PROPERTIES[library]
    path = f"cu{cuda}/{file.format(cuda, cuda - 1)}"
    questions = [("call", (path, function, (part,), ("int",))) for part in range(3)]
    parts = [value for _, value in ask(questions, gpu=H200).answers]
    assert (library, cuda, ".".join(map(str, parts))) in versions(LIBRARIES)


def test_nccl_and_the_driver_report_the_versions_of_the_table() -> None:
    questions = [
        ("call", ("libnccl.so.2", "ncclGetVersion", (), ("int",))),
        ("text", ("libnvidia-ml.so.1", "nvmlSystemGetDriverVersion")),
        ("text", ("libnvidia-ml.so.1", "nvmlSystemGetNVMLVersion")),
    ]
    assert ask(questions, gpu=H200).answers == ([0, 22809], "580.65.06", "13.580.65.06")
    assert {("nccl", 0, "2.28.9"), ("driver", 0, "580.65.6")} <= set(versions(LIBRARIES))
