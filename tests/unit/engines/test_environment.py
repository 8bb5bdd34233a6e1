"""The environment and the settings that make a command see the emulated GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from veritasest.engines.emulated.build import TorchBuild
from veritasest.engines.emulated.environment import child_environment, device_warnings, hides_device
from veritasest.engines.emulated.libraries import Installation, installed, without_special_characters
from veritasest.engines.emulated.settings import native_settings
from veritasest.engines.emulated.support import architectures, binary_for, driver_version
from veritasest.errors import UnsupportedEnvironment
from veritasest.gpus import find
from veritasest.spec.enums import Bound, EventTiming
from veritasest.spec.run import RunSpec

BUILD = TorchBuild(python="python", python_version=(3, 11, 7), version="2.11.0+cu130", cuda="13.0", path="/torch")
PRELOAD = ("libveritasest.so", "libcuda.so.1", "cu12/libcudart.so.12", "cu13/libcudart.so.13", "libnccl.so.2")


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    libraries = tmp_path / "lib"
    libraries.mkdir()
    (libraries / "preload.txt").write_text("\n".join(PRELOAD))
    return Installation(home=tmp_path / "veritasest", libraries=libraries)


def test_the_core_is_preloaded_first_and_the_users_own_last(installation: Installation) -> None:
    preload = child_environment(installation, BUILD, {"LD_PRELOAD": "/user.so"})["LD_PRELOAD"].split(":")
    names = [Path(path).name for path in preload]
    assert names == ["libveritasest.so", "libcuda.so.1", "libcudart.so.13", "libnccl.so.2", "user.so"]


def test_the_native_settings_describe_the_gpu_and_the_run() -> None:
    settings = native_settings(RunSpec(gpu=find("rtx-4090"), limit_bytes=7), BUILD, {})
    # A GPU of compute capability 8.9 runs the 8.6 code: torch 2.11 has none for 8.9.
    assert (settings["gpu_name"], settings["gpu_cc"], settings["gpu_binary"]) == ("NVIDIA GeForce RTX 4090", 89, 86)
    assert (settings["gpu_limit"], settings["gpu_driver"], settings["gpu_count"]) == (7, 13000, 1)
    assert not {"guesses", "events", "plan_cache"} & set(settings)  # the native defaults


def test_no_limit_is_written_as_a_word() -> None:
    assert native_settings(RunSpec(gpu=find("h200"), limit_bytes=None), BUILD, {})["gpu_limit"] == "none"


def test_what_differs_between_runs_is_in_the_native_settings(tmp_path: Path) -> None:
    run = RunSpec(gpu=find("h200"), limit_bytes=None, guesses=Bound.HIGH, events=EventTiming.LATE)
    settings = native_settings(run, None, {"HOME": str(tmp_path)})
    assert (settings["guesses"], settings["events"]) == ("high", "late")
    assert settings["plan_cache"] == str(tmp_path / ".cache/veritasest/cudnn-plans")
    assert all(isinstance(value, (str, int)) for value in settings.values())


def test_the_agent_comes_first_on_the_python_path(installation: Installation) -> None:
    first, second = child_environment(installation, BUILD, {"PYTHONPATH": "/mine"})["PYTHONPATH"].split(":")
    assert first.endswith("veritasest/engines/emulated/agent/inject")
    assert second == "/mine"


@pytest.mark.parametrize(
    ("visible", "hidden"), [(None, False), ("0", False), ("0,1", False), ("", True), ("-1", True), ("3", True)]
)
def test_visible_devices_that_hide_the_emulated_one_are_ignored(
    installation: Installation, visible: str | None, hidden: bool
) -> None:
    base = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert hides_device(visible) is hidden
    kept = child_environment(installation, BUILD, base).get("CUDA_VISIBLE_DEVICES")
    assert kept == (None if hidden else visible)
    assert bool(device_warnings(find("h200"), BUILD, base)) is hidden


def test_paths_with_spaces_are_linked_from_elsewhere_and_the_link_removed(tmp_path: Path) -> None:
    home = tmp_path / "a b" / "veritasest"
    home.mkdir(parents=True)
    with without_special_characters(Installation(home=home, libraries=home)) as plain:
        assert " " not in str(plain.home)
        assert plain.home.resolve() == home
        folder = plain.home.parent
    assert not folder.exists()


def test_an_installation_without_libraries_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERITASEST_LIB", str(tmp_path))
    with pytest.raises(UnsupportedEnvironment, match="not part of this installation"):
        installed()


def test_machine_code_is_of_the_same_major_version() -> None:
    available = architectures("2.11.0+cu130", "13.0")
    assert [binary_for(cc, available) for cc in (75, 80, 89, 90, 100, 120, 70)] == [75, 80, 86, 90, 100, 120, None]


def test_an_untested_torch_and_an_uncovered_gpu_are_warned_of() -> None:
    old = TorchBuild(python="p", python_version=(3, 11), version="2.7.1+cu128", cuda="12.8", path="")
    assert "has not been tested" in device_warnings(find("h200"), old, {})[0]
    assert "no machine code" in device_warnings(find("v100"), BUILD, {})[0]


def test_the_driver_is_at_least_as_new_as_the_build() -> None:
    assert [driver_version(cuda) for cuda in ("12.4", "12.9", "13.0", "13.2")] == [12080, 12090, 13000, 13020]
