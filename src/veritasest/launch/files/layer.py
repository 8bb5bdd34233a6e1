"""The folder that holds one run's changes: where it is, what is left out of it, and how it ends."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from veritasest.launch.files.overlay import Mount, below

# Neither memory (a checkpoint may be larger) nor what the kernel refuses as the upper part of an overlay.
_MEMORY = ("tmpfs", "ramfs")
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse", "lustre", "gpfs")
_NO_UPPER = (*_MEMORY, *_NETWORK, "overlay", "vfat", "exfat")
ROOM_BYTES = 20 << 30
PREFIX = "veritasest-files-"
LOCK = "lock"


@dataclass(frozen=True, kw_only=True)
class Layer:
    """`kept`: existing paths whose changes are real. `wanted`: those that do not exist yet, taken over at the end."""

    folder: Path
    kept: tuple[str, ...]
    wanted: tuple[str, ...]

    def interposed_upper(self) -> Path:
        """The interposer's only part, which covers everything."""
        place = self.folder / "0"
        if not place.exists():
            (place / "upper").mkdir(parents=True)
            (place / "lower").symlink_to("/")
        return place / "upper"

    def uppers(self) -> Iterator[tuple[Path, Path]]:
        """Each part of the layer, and the folder that it covers."""
        for place in sorted(self.folder.iterdir()):
            if (place / "lower").is_symlink():
                yield place / "upper", (place / "lower").readlink()


def place_for(found: Sequence[Mount], candidates: Sequence[Path]) -> Path | None:
    """The first folder on a disk with room that can hold an overlay; else the roomiest; None where there is none."""
    able = [path for path in candidates if path.is_dir() and os.access(path, os.W_OK) and not _refused(path, found)]
    roomy = [path for path in able if _free_bytes(path) >= ROOM_BYTES]
    return roomy[0] if roomy else max(able, key=_free_bytes, default=None)


def candidates(env: Mapping[str, str], cache: Path | None, cwd: Path) -> list[Path]:
    temporary = env.get("TMPDIR") or tempfile.gettempdir()
    return [path.resolve() for path in (Path(temporary), Path("/var/tmp"), *([cache] if cache else []), cwd)]


def _refused(path: Path, found: Sequence[Mount]) -> bool:
    holders = [mount for mount in found if below(str(path), [mount.point])]
    kind = max(holders, key=lambda mount: len(mount.point)).kind if holders else ""
    return kind.split(".")[0] in _NO_UPPER


def _free_bytes(path: Path) -> int:
    return shutil.disk_usage(path).free


def download_caches(env: Mapping[str, str]) -> list[str]:
    """Where hubs keep downloads under names that are hashes of their content: to fetch them anew in each run would take
    minutes, and nothing that the job computes is written there."""
    home = env.get("HOME")
    caches = env.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else None)
    huggingface = env.get("HF_HOME") or (f"{caches}/huggingface" if caches else None)
    torch = env.get("TORCH_HOME") or (f"{caches}/torch" if caches else None)
    hub = env.get("HF_HUB_CACHE") or (f"{huggingface}/hub" if huggingface else None)
    found = (hub, f"{huggingface}/xet" if huggingface else None, f"{torch}/hub" if torch else None)
    return [os.path.realpath(path) for path in found if path and path.startswith("/")]


@contextmanager
def open_layer(place: Path, *, kept: Sequence[Path | str], env: Mapping[str, str]) -> Iterator[Layer]:
    """A fresh layer, discarded at the end."""
    _discard_stale(place)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    downloads = download_caches(env)
    (folder / "root").mkdir()
    with open(folder / "new", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "new").rename(folder / LOCK)  # never seen without its lock held
        yield from _opened(folder, kept, downloads)


def _opened(folder: Path, kept: Sequence[Path | str], downloads: Sequence[str]) -> Iterator[Layer]:
    try:
        layer = Layer(
            folder=folder,
            kept=tuple(dict.fromkeys(os.path.realpath(path) for path in (*kept, *downloads) if Path(path).exists())),
            wanted=tuple(path for path in downloads if not Path(path).exists()),
        )
        yield layer
        _take_over(layer)
    finally:
        discard(folder)


def _take_over(layer: Layer) -> None:
    """Downloads into caches that did not exist, and byte code of installed packages: real from now on.

    Python checks byte code against its source, so that what was compiled from a changed copy is never used.
    """
    for upper, lower in layer.uppers():
        for path in layer.wanted:
            if below(path, [str(lower)]):
                _move(upper / Path(path).relative_to(lower), Path(path))
        for folder, _, names in os.walk(upper):
            if folder.endswith("/__pycache__") and "/lib/python" in folder:
                for name in names:
                    source = Path(folder) / name
                    _move(source, lower / source.relative_to(upper))


def _move(source: Path, target: Path) -> None:
    with suppress(OSError):
        if source.is_file() or source.is_dir():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source, target)


def _discard_stale(place: Path) -> None:
    """Layers whose run was killed: nobody holds their lock any more."""
    for folder in place.glob(f"{PREFIX}*"):
        with suppress(OSError), open(folder / LOCK) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            discard(folder)


def discard(folder: Path) -> None:
    """The kernel's own work folders and what the job itself has made unreadable included."""
    for path, names, _ in os.walk(folder):
        for name in names:
            with suppress(OSError):
                inside = Path(path, name)
                if not inside.is_symlink():
                    inside.chmod(stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)
