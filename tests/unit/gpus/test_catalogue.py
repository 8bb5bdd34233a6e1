import dataclasses
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from veritasest.errors import UnknownGPU, UsageError
from veritasest.gpus import cudnn_properties, find, load
from veritasest.spec.gpu import GPU

# Measured on an H200, through cuDNN itself.
H200_PROPERTIES = (
    '{"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,'
    '"multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,'
    '"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,'
    '"maxThreadsPerSM":2048,"pciDeviceId":6,"isTccDriver":0,"supportCoopLaunch":1,"totalGlobalMem":150109880320,'
    '"smClockRateKHz":1980000,"memClockRateKHz":3201000,"l2CacheSize":62914560,"cudaDeviceId":0,"deviceVer":900,'
    '"driverVer":13000,"deviceName":"NVIDIA H200"}'
)


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in files("veritasest.gpus").joinpath("gpus.jsonl").read_text().splitlines()]


def test_a_row_and_its_architecture_have_exactly_the_fields_of_the_record() -> None:
    architectures = json.loads(files("veritasest.gpus").joinpath("architectures.json").read_text())
    fields = {field.name for field in dataclasses.fields(GPU)}
    for row in rows():
        assert set(row) | set(architectures[row["compute_capability"]]) == fields, row["id"]


def test_a_row_does_not_repeat_what_follows_from_the_architecture() -> None:
    architectures = json.loads(files("veritasest.gpus").joinpath("architectures.json").read_text())
    repeated = {row["id"]: set(row) & set(architectures[row["compute_capability"]]) for row in rows()}
    assert {gpu: names for gpu, names in repeated.items() if names} == {}


@pytest.fixture
def user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's own catalogue, empty."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "veritasest" / "gpus.jsonl"
    path.parent.mkdir()
    load.cache_clear()
    yield path
    load.cache_clear()


def test_rows_of_the_user_are_added_and_replace_those_of_the_same_id(user_file: Path) -> None:
    t4 = next(row for row in rows() if row["id"] == "t4")
    own = {**t4, "id": "my-gpu", "name": "My GPU", "aliases": []}
    user_file.write_text(json.dumps(own) + "\n" + json.dumps({**t4, "context_bytes": 7}) + "\n")
    assert (find("My GPU").sm_count, find("t4").context_bytes) == (t4["sm_count"], 7)
    assert len(load()) == len(rows()) + 1


def test_a_row_of_the_user_that_is_not_a_gpu_is_named_with_its_line(user_file: Path) -> None:
    user_file.write_text('\n{"id": "my-gpu"}\n')
    with pytest.raises(UsageError, match=r"gpus\.jsonl, line 2: not a GPU"):
        load()


def test_the_cudnn_text_of_an_h200_is_byte_identical_to_the_real_one() -> None:
    assert cudnn_properties(find("h200")) == H200_PROPERTIES


@pytest.mark.parametrize("gpu", load(), ids=lambda gpu: gpu.id)
def test_every_gpu_is_plausible_and_says_where_its_numbers_come_from(gpu: GPU) -> None:
    assert gpu.context_bytes < gpu.total_bytes / 20
    assert gpu.shared_optin_bytes <= gpu.shared_sm_bytes
    assert {"total_bytes", "context_bytes"} <= set(gpu.evidence)
    assert set(gpu.evidence) <= {field.name for field in dataclasses.fields(GPU)}
    assert set(gpu.evidence.values()) <= {"measured", "public report", "assumed"}
    assert gpu.source


@pytest.mark.parametrize("gpu", load(), ids=lambda gpu: gpu.id)
def test_the_total_lies_within_what_was_reported(gpu: GPU) -> None:
    if gpu.total_bytes_range is None:
        assert gpu.evidence["total_bytes"] == "measured"
        return
    low, high = gpu.total_bytes_range
    assert low <= gpu.total_bytes <= high
    assert high - low < 256 << 20


@pytest.mark.parametrize(
    ("name", "low_mib", "total_mib", "high_mib"),
    [
        ("t4", 14912, 14912, 15109),  # 15,637,086,208 bytes with driver 580: 14,912.7 MiB
        ("rtx-3060", 11908, 11908, 12045),
        ("rtx-4060", 7806, 7807, 7940),
        ("a100-40gb", 40339, 40441, 40536),
    ],
)
def test_totals_are_those_of_current_drivers(name: str, low_mib: int, total_mib: int, high_mib: int) -> None:
    gpu = find(name)
    assert gpu.total_bytes_range is not None
    assert [size >> 20 for size in (gpu.total_bytes_range[0], gpu.total_bytes, gpu.total_bytes_range[1])] == [
        low_mib,
        total_mib,
        high_mib,
    ]


def test_a_capacity_given_by_the_user_has_no_range() -> None:
    assert find("t4").with_memory(8 << 30).total_bytes_range is None


def test_names_are_unique() -> None:
    names = [name for gpu in load() for name in (gpu.id, *gpu.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["rtx-4090", "RTX 4090", "rtx4090", "NVIDIA GeForce RTX 4090", "4090"])
def test_any_reasonable_spelling_finds_the_gpu(name: str) -> None:
    assert find(name).id == "rtx-4090"


def test_an_unknown_name_gets_near_ones() -> None:
    with pytest.raises(UnknownGPU, match="rtx-4900") as caught:
        find("rtx-4900")
    assert "rtx-4090" in caught.value.hint


def test_memory_below_the_context_is_refused() -> None:
    with pytest.raises(UsageError, match="context"):
        find("h200").with_memory(100 << 20)


def test_compute_capability_as_a_number() -> None:
    assert [find(name).cc for name in ("t4", "h200", "b200", "rtx-5090")] == [75, 90, 100, 120]
