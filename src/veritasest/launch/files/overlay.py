"""The mounts that put a layer over every writable file system, as steps for `veritasest-enter` (native/files/enter.c).

Root gets a new root folder: an overlay on each file system, all else bound into it. Others need a user namespace, where
the kernel refuses an overlay on a folder with mounts below it, so there each folder without such mounts gets one in
place; what is above them (`/`, `/mnt`) they can seldom write anyway.

In a user namespace the kernel copies nothing up whose owner or group it does not map (EOVERFLOW), and only the user's
own two can be mapped. So the folders on the way to where the job works are made beforehand, and where such a folder
itself belongs to another user or group there is no plan: the interposer has no such limit.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# Not for files: the kernel's own, and what processes share. /run holds sockets and locks of services.
_AS_THEY_ARE = ("/proc", "/sys", "/dev", "/run", "/var/run")
_KERNEL_TYPES = (
    *("autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs"),
    *("fusectl", "hugetlbfs", "mqueue", "nsfs", "proc", "pstore", "ramfs", "rpc_pipefs", "securityfs", "selinuxfs"),
    *("sysfs", "tracefs"),
)
# `volatile`: nothing is synced to disk for a layer that is thrown away. To rename a folder of the user takes
# redirect_dir, which the kernel does not grant in a user namespace: there the job sees EXDEV, as between two disks.
ROOT_OPTIONS = "redirect_dir=on,volatile"
USER_OPTIONS = "userxattr,volatile"


@dataclass(frozen=True, kw_only=True)
class Mount:
    point: str
    kind: str
    read_only: bool


def mounts(text: str) -> tuple[Mount, ...]:
    """The mounts of a /proc/self/mountinfo, parents first; of several at one point the last, which hides the others."""
    found: dict[str, Mount] = {}
    for line in text.splitlines():
        fields, _, rest = line.partition(" - ")
        words, (kind, _source, options) = fields.split(), rest.split(" ")[:3]
        read_only = "ro" in words[5].split(",") or "ro" in options.split(",")
        found[_plain(words[4])] = Mount(point=_plain(words[4]), kind=kind, read_only=read_only)
    return tuple(sorted(found.values(), key=lambda mount: (mount.point.count("/"), mount.point)))


def _plain(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), text)


def below(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def root_steps(found: Sequence[Mount], layer: Path, *, kept: Sequence[str], work: Sequence[str]) -> list[str]:
    """For root: a new root folder. `kept` stays as it is outside; mounts that hold `work` must get their overlay."""
    new, steps, bound = layer / "root", [], list(_AS_THEY_ARE)
    for number, mount in enumerate(found):
        target = f"{new}{mount.point}" if mount.point != "/" else str(new)
        if mount.point in _AS_THEY_ARE:
            steps += ["bind", mount.point, target]
        elif below(mount.point, bound) or not _present(mount.point):
            continue
        elif mount.kind in _KERNEL_TYPES:
            steps += ["bind", mount.point, target]
            bound.append(mount.point)
        elif mount.read_only or not Path(mount.point).is_dir():
            steps += ["readonly", mount.point, target]
        else:
            essential = mount.point == "/" or any(_holder(path, found) == mount for path in work)
            steps += _overlay(mount.point, target, layer / str(number), ROOT_OPTIONS, essential)
    for path in _AS_THEY_ARE[:4]:  # /run need not be a mount of its own
        if not any(mount.point == path for mount in found) and Path(path).is_dir():
            steps += ["bind", path, f"{new}{path}"]
    for path in kept:
        steps += ["bind", path, f"{new}{path}"]
    return [*steps, "root", str(new)]


def user_steps(found: Sequence[Mount], layer: Path, *, kept: Sequence[str], work: Sequence[str]) -> list[str] | None:
    """For other users: overlays in place. None where the job works in a folder that the kernel would not copy up."""
    if not all(_is_ours(path) for path in work):
        return None
    steps = ["user", str(os.geteuid()), str(os.getegid())]
    for number, (folder, read_only) in enumerate(_folders("/", found)):
        if not read_only:
            holds = any(below(path, [folder]) for path in work)
            steps += _overlay(folder, folder, layer / str(number), USER_OPTIONS, holds)
            _make_ways(folder, layer / str(number) / "upper", work)
    for path in kept:
        steps += ["bind", path, path]
    return steps


def _folders(folder: str, found: Sequence[Mount]) -> Iterator[tuple[str, bool]]:
    """The topmost folders without mounts below them, and whether they are read-only."""
    holder = _holder(folder, found)
    if folder in _AS_THEY_ARE or (holder is not None and holder.kind in _KERNEL_TYPES):
        return
    if not any(mount.point != folder and below(mount.point, [folder]) for mount in found):
        yield folder, holder is not None and holder.read_only
        return
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for name in names:
        yield from _folders(f"{folder.rstrip('/')}/{name}", found)


def _holder(path: str, found: Sequence[Mount]) -> Mount | None:
    holders = [mount for mount in found if below(path, [mount.point])]
    return max(holders, key=lambda mount: len(mount.point), default=None)


def _present(point: str) -> bool:
    """Not one that a later mount hides, or another user's that even root may not look into."""
    try:
        Path(point).stat()
    except OSError:
        return False
    return True


def _overlay(lower: str, target: str, place: Path, options: str, essential: bool) -> list[str]:
    (place / "work").mkdir(parents=True)
    _copy_folder(lower, place / "upper")
    (place / "lower").symlink_to(lower)  # for counting afterwards
    verb = "overlay" if essential else "overlay-or-readonly"
    return [verb, lower, target, str(place / "upper"), str(place / "work"), options]


def _copy_folder(lower: str, upper: Path) -> None:
    """An empty folder with the rights of `lower`: in a merged folder the upper one's count. Where the owner cannot be
    kept it is the user, who gets what `lower` grants him."""
    upper.mkdir()
    facts = Path(lower).stat()
    if (facts.st_uid, facts.st_gid) == (os.geteuid(), os.getegid()) or os.geteuid() == 0:
        os.chown(upper, facts.st_uid, facts.st_gid)
        upper.chmod(stat.S_IMODE(facts.st_mode))
        return
    granted = sum(bit for bit, right in ((4, os.R_OK), (2, os.W_OK), (1, os.X_OK)) if os.access(lower, right))
    upper.chmod((stat.S_IMODE(facts.st_mode) & 0o1077) | granted << 6)


def _is_ours(path: str) -> bool:
    facts = Path(path).stat()
    shared = bool(facts.st_mode & stat.S_ISVTX) and os.access(path, os.W_OK)  # like /tmp: made beforehand
    return shared or not os.access(path, os.W_OK) or (facts.st_uid, facts.st_gid) == (os.geteuid(), os.getegid())


def _make_ways(folder: str, upper: Path, work: Sequence[str]) -> None:
    """The folders between `folder` and where the job works, some of which may belong to others."""
    for path in work:
        if not below(path, [folder]):
            continue
        lower, made = Path(folder), upper
        for part in Path(path).relative_to(folder).parts:
            lower, made, parent = lower / part, made / part, made
            if not made.exists():
                rights = parent.stat().st_mode
                parent.chmod(rights | 0o700)
                _copy_folder(str(lower), made)
                parent.chmod(rights)
