"""Where the job's files are held back: the plan of mounts, the layer, and what is counted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import veritasest
from veritasest.launch.files.changes import DELETED_MARK, OPAQUE_MARK, changes
from veritasest.launch.files.layer import LOCK, PREFIX, open_layer, place_for
from veritasest.launch.files.overlay import Mount, mounts, root_steps, user_steps
from veritasest.launch.files.trackers import tracker_environment
from veritasest.spec.enums import FileMode

Job = Callable[[str], Path]

MOUNTINFO = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:5 / /proc rw - proc proc rw
24 22 0:6 / /dev rw - devtmpfs udev rw
25 24 0:7 / /dev/shm rw - tmpfs tmpfs rw
26 22 0:50 / /home rw,relatime - nfs4 server:/home rw
27 26 0:51 / /home/my\\040data ro - ext4 /dev/sdb1 rw
"""


def test_mounts_come_parents_first_with_their_paths_decoded() -> None:
    found = mounts(MOUNTINFO)
    assert [mount.point for mount in found] == ["/", "/dev", "/home", "/proc", "/dev/shm", "/home/my data"]
    assert [mount.point for mount in found if mount.read_only] == ["/home/my data"]


def test_a_later_mount_hides_an_earlier_one_at_the_same_point() -> None:
    twice = MOUNTINFO + "28 26 0:52 / /home/my\\040data rw - xfs /dev/sdc1 rw\n"
    assert [mount.kind for mount in mounts(twice)][-1] == "xfs"


def test_root_gets_overlays_on_disks_and_the_kernels_own_as_they_are(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    (disk / "archive").mkdir(parents=True)
    found = [
        Mount(point="/", kind="ext4", read_only=False),
        Mount(point="/proc", kind="proc", read_only=False),
        Mount(point=str(disk), kind="xfs", read_only=False),
        Mount(point=f"{disk}/archive", kind="xfs", read_only=True),
        Mount(point=f"{disk}/hidden", kind="xfs", read_only=False),
    ]
    layer = tmp_path / "layer"
    steps = root_steps(found, layer, kept=["/cache"], work=[str(disk)])
    new = f"{layer}/root"
    at = {word: steps[index - 2 : index + 1] for index, word in enumerate(steps) if word.startswith(new)}
    assert at[f"{new}/proc"] == ["bind", "/proc", f"{new}/proc"]
    assert at[f"{new}/cache"] == ["bind", "/cache", f"{new}/cache"]
    assert at[f"{new}{disk}"] == ["overlay", str(disk), f"{new}{disk}"]
    assert at[f"{new}{disk}/archive"][0] == "readonly"
    assert f"{new}{disk}/hidden" not in at
    assert steps[-2:] == ["root", new]


def test_others_get_overlays_on_folders_without_mounts_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "scandir", lambda path: [Entry(name) for name in {"/": ["proc", "home", "opt"]}[path]])
    monkeypatch.setattr("veritasest.launch.files.overlay._copy_folder", lambda _lower, upper: upper.mkdir())
    found = [Mount(point=point, kind="ext4", read_only=False) for point in ("/", "/home")]
    steps = user_steps([*found, Mount(point="/proc", kind="proc", read_only=False)], tmp_path, kept=[], work=[])
    assert steps is not None
    assert steps[:3] == ["user", str(os.geteuid()), str(os.getegid())]
    assert [steps[i + 1] for i, word in enumerate(steps) if word == "overlay-or-readonly"] == ["/home", "/opt"]


class Entry:
    def __init__(self, name: str) -> None:
        self.name = name

    def is_dir(self, *, follow_symlinks: bool) -> bool:
        return not follow_symlinks


def test_a_layer_is_not_made_in_memory_where_a_disk_is_there(tmp_path: Path) -> None:
    memory, disk = tmp_path / "memory", tmp_path / "disk"
    for folder in (memory, disk):
        folder.mkdir()
    found = [Mount(point="/", kind="ext4", read_only=False), Mount(point=str(memory), kind="tmpfs", read_only=False)]
    assert place_for(found, [memory, disk]) == disk
    assert place_for(found, [memory]) is None


def test_a_layer_whose_run_was_killed_is_discarded_by_the_next(tmp_path: Path) -> None:
    stale = tmp_path / f"{PREFIX}stale"
    (stale / "0" / "work" / "work").mkdir(parents=True, mode=0)
    (stale / LOCK).touch()
    with open_layer(tmp_path, kept=(), env={}) as first, open_layer(tmp_path, kept=(), env={}) as second:
        assert {first.folder, second.folder} == set(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []


def test_changes_are_counted_with_what_deleted_folders_held(tmp_path: Path) -> None:
    lower, place = tmp_path / "lower", tmp_path / "layers"
    for name in ("kept.txt", "gone/a", "gone/b", "anew/old", "anew/same", "__pycache__/x.pyc"):
        (lower / name).parent.mkdir(parents=True, exist_ok=True)
        (lower / name).write_text("x")
    place.mkdir()
    with open_layer(place, kept=(), env={}) as layer:
        upper = layer.folder / "0" / "upper"
        (layer.folder / "0").mkdir()
        (layer.folder / "0" / "lower").symlink_to(lower)
        for name, size in (("anew/same", 5), ("runs/model.pt", 100), ("__pycache__/y.pyc", 7)):
            (upper / name).parent.mkdir(parents=True, exist_ok=True)
            (upper / name).write_bytes(bytes(size))
        (upper / "anew" / OPAQUE_MARK).touch()
        (upper / f"{DELETED_MARK}gone").touch()
        found = changes(layer)
    # gone/a, gone/b and anew/old; byte code counts for nothing
    assert (found.written, found.bytes, found.deleted) == (2, 105, 3)
    assert found.folder == f"{lower}/runs"
    assert found.examples == tuple(
        f"{lower}/{name}" for name in ("anew/same", "runs/model.pt", "anew/old", "gone/a", "gone/b")
    )


def test_trackers_send_nothing_and_a_users_stricter_choice_stays() -> None:
    assert tracker_environment({}, mode=FileMode.OVERLAY)["WANDB_MODE"] == "offline"
    assert tracker_environment({}, mode=FileMode.INTERPOSER)["WANDB_MODE"] == "disabled"
    assert tracker_environment({"WANDB_MODE": "disabled"}, mode=FileMode.OVERLAY)["WANDB_MODE"] == "disabled"
    remote = tracker_environment({"MLFLOW_TRACKING_URI": "https://tracking"}, mode=FileMode.OVERLAY)
    assert remote["MLFLOW_TRACKING_URI"] == "file:./mlruns"
    assert "MLFLOW_TRACKING_URI" not in tracker_environment(
        {"MLFLOW_TRACKING_URI": "sqlite:///a.db"}, mode=FileMode.OVERLAY
    )


def test_without_a_layer_a_notice_comes_before_the_job_starts(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERITASEST_FILES", "none")
    path = job("open('started', 'w')\njob.start()\njob.reserve(1)\njob.end('exit')")
    notices: list[tuple[str, bool]] = []
    found = veritasest.estimate(
        ["train.py"], on_notice=lambda text: notices.append((text, path.with_name("started").exists()))
    )
    assert [started for _, started in notices] == [False]
    assert "written and deleted for real" in notices[0][0]
    assert found.files is not None
    assert found.files.mode == "none"
