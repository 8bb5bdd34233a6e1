"""Counts what a layer holds back."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from veritasest.launch.files.layer import Layer
from veritasest.launch.files.overlay import below

EXAMPLES = 5
MOST_COUNTED = 100_000  # of the files below a deleted folder
# The interposer's marks (native/files/layer.h): a deleted name, and a folder that hides what was there before.
DELETED_MARK = ".veritasest-deleted."
OPAQUE_MARK = ".veritasest-opaque"


@dataclass(frozen=True, kw_only=True)
class Changes:
    """`folder`: where most of the bytes went. `examples`: the first few paths, written ones first."""

    written: int = 0
    deleted: int = 0
    bytes: int = 0
    folder: str | None = None
    examples: tuple[str, ...] = ()


def changes(layer: Layer) -> Changes:
    written: dict[str, int] = {}
    deleted: list[str] = []
    for upper, lower in layer.uppers():
        for path, size in _found(upper, lower):
            if below(path, layer.wanted):
                continue
            if size is None:
                deleted.append(path)
            else:
                written[path] = size
    folders = Counter[str]()
    for path, size in written.items():
        folders[str(Path(path).parent)] += size + 1
    return Changes(
        written=len(written),
        deleted=len(deleted),
        bytes=sum(written.values()),
        folder=folders.most_common(1)[0][0] if folders else None,
        examples=tuple([*sorted(written), *sorted(deleted)][:EXAMPLES]),
    )


def _found(upper: Path, lower: Path) -> Iterator[tuple[str, int | None]]:
    """Paths and sizes of what was written; None for what was deleted. Byte code does not count."""
    try:
        entries = sorted(os.scandir(upper), key=lambda entry: entry.name)
    except OSError:
        return
    names = {entry.name for entry in entries}
    if OPAQUE_MARK in names or _is_opaque(upper):
        yield from _gone(lower, but=names)
    for entry in entries:
        facts = entry.stat(follow_symlinks=False)
        path = lower / entry.name
        if entry.name.startswith(DELETED_MARK):
            yield from _below(lower / entry.name[len(DELETED_MARK) :])
        elif stat.S_ISCHR(facts.st_mode) and facts.st_rdev == 0:
            yield from _below(path)
        elif entry.is_dir(follow_symlinks=False):
            yield from () if entry.name == "__pycache__" else _found(Path(entry.path), path)
        elif entry.is_file(follow_symlinks=False) and entry.name != OPAQUE_MARK:
            yield str(path), facts.st_size


def _gone(lower: Path, *, but: set[str]) -> Iterator[tuple[str, None]]:
    """What a folder had that was deleted and made anew."""
    try:
        names = sorted(path.name for path in lower.iterdir())
    except OSError:
        return
    for name in names:
        if name not in but:
            yield from _below(lower / name)


def _below(path: Path) -> Iterator[tuple[str, None]]:
    """A deleted file, or the files of a deleted folder."""
    if path.is_symlink() or not path.is_dir():
        yield str(path), None
        return
    count = 0
    for folder, _, names in os.walk(path):
        for name in sorted(names):
            if "__pycache__" not in folder and count < MOST_COUNTED:
                count += 1
                yield f"{folder}/{name}", None


def _is_opaque(folder: Path) -> bool:
    for name in ("trusted.overlay.opaque", "user.overlay.opaque"):
        try:
            if os.getxattr(folder, name) == b"y":
                return True
        except OSError:
            continue
    return False
