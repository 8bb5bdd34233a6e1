"""The command of the user, completed, and the Python it leads to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from veritasest.errors import UsageError
from veritasest.launch.command import resolve


def test_a_script_implies_python(tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    job = resolve(["train.py", "--lr", "1"], cwd=tmp_path, env={"VIRTUAL_ENV": sys.prefix})
    assert job.command == (str(Path(sys.prefix) / "bin/python"), "train.py", "--lr", "1")


def test_a_console_scripts_interpreter_is_read_from_its_first_lines(tmp_path: Path) -> None:
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


def test_the_job_keeps_its_folder_and_environment(tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    env = {"VIRTUAL_ENV": sys.prefix, "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    job = resolve(["train.py"], cwd=tmp_path, env=env)
    assert (job.folder, dict(job.environment)) == (str(tmp_path), env)
    assert job.allocator_conf == "expandable_segments:True"
