from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from veritasest.engines.emulated.environment import StopRule, child_environment, device_warnings, hides_device
from veritasest.engines.emulated.libraries import Installation, installed, plain_paths
from veritasest.engines.emulated.support import architectures, binary_for, driver_version
from veritasest.errors import UnsupportedEnvironment, UsageError
from veritasest.gpus import find
from veritasest.launch.interpreter import TorchBuild, inspect_build, resolve

BUILD = TorchBuild(python="python", python_version=(3, 11, 7), version="2.11.0+cu130", cuda="13.0", path="/torch")
PRELOAD = ("libveritasest.so", "libcuda.so.1", "cu12/libcudart.so.12", "cu13/libcudart.so.13", "libnccl.so.2")


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    libraries = tmp_path / "lib"
    libraries.mkdir()
    (libraries / "preload.txt").write_text("\n".join(PRELOAD))
    return Installation(home=tmp_path / "veritasest", libraries=libraries)


def environment(installation: Installation, base: dict[str, str], limit: int | None = 7) -> dict[str, str]:
    return child_environment(
        installation=installation,
        gpu=find("rtx-4090"),
        build=BUILD,
        limit_bytes=limit,
        trace_path=Path("/t.vest"),
        stop=StopRule(),
        base=base,
    )


def test_the_core_is_preloaded_first_and_the_users_own_last(installation: Installation) -> None:
    preload = environment(installation, {"LD_PRELOAD": "/user.so"})["LD_PRELOAD"].split(":")
    names = [Path(path).name for path in preload]
    assert names == ["libveritasest.so", "libcuda.so.1", "libcudart.so.13", "libnccl.so.2", "user.so"]


def test_the_installed_stand_ins_are_listed_in_preload_order() -> None:
    libraries = installed().libraries
    # cuFFT and cuSOLVER count one behind the toolkit.
    versions = ["cudart.so.13", "cublas.so.13", "cublasLt.so.13", "cufft.so.12", "cusolver.so.12", "cusparse.so.12"]
    paths = installed().preload(13)
    assert [str(path.relative_to(libraries)) for path in paths] == [
        *("libveritasest.so", "libcuda.so.1", "libnvidia-ml.so.1"),
        *(f"cu13/lib{name}" for name in (*versions, "curand.so.10")),
        *("libnccl.so.2", "libveritasest_cudnn.so.9"),
    ]
    assert [path for path in paths if not path.exists()] == []


def test_the_device_text_carries_the_gpu(installation: Installation) -> None:
    text = environment(installation, {})["VERITASEST_DEVICE"]
    fields = dict(field.split("=") for field in text.split(";"))
    # An 8.9 GPU runs the 8.6 code: torch 2.11 has none of its own for it.
    assert (fields["name"], fields["cc"], fields["binary"]) == ("NVIDIA GeForce RTX 4090", "89", "86")
    assert (fields["limit"], fields["driver"], fields["count"]) == ("7", "13000", "1")


def test_no_limit_is_said_in_words(installation: Installation) -> None:
    assert ";limit=none;" in environment(installation, {}, limit=None)["VERITASEST_DEVICE"]


def test_the_agent_comes_first_on_the_python_path(installation: Installation) -> None:
    first, second = environment(installation, {"PYTHONPATH": "/mine"})["PYTHONPATH"].split(":")
    assert first.endswith("veritasest/engines/emulated/agent/inject")
    assert second == "/mine"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (StopRule(), "steps=3;quiet=2"),
        (StopRule(budget_s=1.5), "steps=3;quiet=2;budget_s=1.5"),
        (StopRule(steps=9, forward_from=4), "steps=9;forward_from=4"),
        (StopRule(until_exit=True, forward_from=4, leave_from=6), "forward_from=4;leave_from=6"),
        (StopRule(steps=5), "steps=5"),
        (StopRule(until_exit=True), "until_exit"),
    ],
)
def test_the_stop_rule_as_the_agent_reads_it(rule: StopRule, text: str) -> None:
    assert rule.text() == text


@pytest.mark.parametrize(
    ("visible", "hidden"), [(None, False), ("0", False), ("0,1", False), ("", True), ("-1", True), ("3", True)]
)
def test_a_visible_devices_that_hides_the_emulated_one_is_left_out(
    installation: Installation, visible: str | None, hidden: bool
) -> None:
    base = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert hides_device(visible) is hidden
    kept = environment(installation, base).get("CUDA_VISIBLE_DEVICES")
    assert kept == (None if hidden else visible)
    assert bool(device_warnings(find("h200"), BUILD, base)) is hidden


def test_paths_with_spaces_are_linked_from_elsewhere_and_the_link_removed(tmp_path: Path) -> None:
    home = tmp_path / "a b" / "veritasest"
    home.mkdir(parents=True)
    with plain_paths(Installation(home=home, libraries=home)) as plain:
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


def test_a_script_implies_python(tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    command = resolve(["train.py", "--lr", "1"], cwd=tmp_path, env={"VIRTUAL_ENV": sys.prefix})
    assert command.words == (str(Path(sys.prefix) / "bin/python"), "train.py", "--lr", "1")


def test_a_console_scripts_interpreter_is_read_off_its_first_line(tmp_path: Path) -> None:
    for name, head in {
        "plain": "#!/opt/env/bin/python3.11\n",
        "env": "#!/usr/bin/env python3\n",
        "long": '#!/bin/sh\n\'\'\'exec\' "/a long/path/bin/python" "$0" "$@"\n',
        "shell": "#!/bin/sh\npython train.py\n",
    }.items():
        (tmp_path / name).write_text(head)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "python3").touch(mode=0o755)
    env = {"PATH": str(tmp_path)}
    found = [resolve([name], cwd=tmp_path, env=env).python for name in ("plain", "env", "long", "shell")]
    assert found == ["/opt/env/bin/python3.11", str(tmp_path / "python3"), "/a long/path/bin/python", None]


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ([], "no command"),
        (["nosuch.py"], "no such script: 'nosuch.py'"),
        ([sys.executable, "nosuch.py"], "no such script"),
        (["folder"], "is a directory"),
        (["folder.py"], "is a directory"),
        (["no-such-command"], "no such script or command"),
    ],
)
def test_a_command_that_cannot_run_is_refused(tmp_path: Path, words: list[str], match: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(UsageError, match=match):
        resolve(words, cwd=tmp_path, env={"PATH": ""})


def test_a_cuda_build_is_recognised_without_importing_it(fake_torch: Callable[..., Path], tmp_path: Path) -> None:
    build = inspect_build(sys.executable, cwd=tmp_path, env={"PYTHONPATH": str(fake_torch())})
    assert (build.version, build.cuda) == ("2.11.0+cu130", "13.0")


@pytest.mark.parametrize(
    ("facts", "match"),
    [
        ({"version": "2.11.0+cpu", "cuda": None}, "CPU-only"),
        ({"version": "2.11.0+rocm6.4", "cuda": None, "hip": "6.4"}, "ROCm"),
        ({"version": "1.13.1+cu117", "cuda": "11.7"}, "CUDA 11.7"),
    ],
)
def test_other_builds_are_refused_with_what_to_type(
    fake_torch: Callable[..., Path], tmp_path: Path, facts: dict[str, str | None], match: str
) -> None:
    with pytest.raises(UnsupportedEnvironment, match=match) as caught:
        inspect_build(sys.executable, cwd=tmp_path, env={"PYTHONPATH": str(fake_torch(**facts))})
    assert "pip install torch==2.11.0" in caught.value.hint


def test_a_python_without_torch_is_refused(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -I "$@"\n')
    python.chmod(0o755)
    with pytest.raises(UnsupportedEnvironment, match="has no PyTorch"):
        inspect_build(str(python), cwd=tmp_path, env={})


def test_a_python_that_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedEnvironment, match="could not be asked"):
        inspect_build("/bin/false", cwd=tmp_path, env={})
