"""Public numbers that the native part declares are those of the installed CUDA headers."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from prerequisites import missing

NATIVE = Path(__file__).parents[2] / "native"
DEVICE_ATTRIBUTES = NATIVE / "core" / "device_attributes.def"


def declared() -> dict[str, int]:
    rows = re.findall(r"^VEST_ATTRIBUTE\((\w+), (\d+), .+\)$", DEVICE_ATTRIBUTES.read_text(), re.MULTILINE)
    numbers = {f"CU_DEVICE_ATTRIBUTE_{name}": int(number) for name, number in rows}
    for source in (NATIVE / "cuda" / "pointers.c", NATIVE / "cudart" / "pools.c"):
        found = re.findall(r"^    (CU_POINTER\w+|cudaMemPool\w+) = (\d+),$", source.read_text(), re.MULTILINE)
        assert found, source
        numbers |= {name: int(number) for name, number in found}
    return numbers


@pytest.fixture(scope="module")
def public() -> dict[str, int]:
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    headers = [path for folder in folders for name in ("cuda.h", "driver_types.h") for path in folder.rglob(name)]
    if not headers:
        raise missing("no installed package has the CUDA headers")
    found = (re.findall(r"\b(C[Uu]\w+|cuda\w+)\s*=\s*(0x[0-9a-f]+|\d+)", path.read_text()) for path in headers)
    return {name: int(number, 0) for pairs in found for name, number in pairs}


def test_numbers_are_those_of_the_headers(public: dict[str, int]) -> None:
    numbers = declared()
    assert len(numbers) > 100
    assert numbers == {name: public.get(name) for name in numbers}


def test_attributes_are_sorted_and_unique() -> None:
    numbers = re.findall(r"^VEST_ATTRIBUTE\(\w+, (\d+),", DEVICE_ATTRIBUTES.read_text(), re.MULTILINE)
    assert [int(number) for number in numbers] == sorted({int(number) for number in numbers})
