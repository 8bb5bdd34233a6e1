"""Which way a job's files are kept: the most robust that this machine allows."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from veritasest.engines.caches import cache_dir
from veritasest.launch.files.enter import ENTER, enter
from veritasest.launch.files.layer import Layer, candidates, open_layer, place_for
from veritasest.launch.files.overlay import mounts, root_steps, user_steps
from veritasest.spec.enums import FileMode
from veritasest.spec.job import JobSpec

INTERPOSER = "libveritasest_files.so"
SPARSE = "libveritasest_sparse.so"
FORCE = "VERITASEST_FILES"  # for tests: the name of a mode


@dataclass(frozen=True, kw_only=True)
class Files:
    """`place`: where layers are made. `work`: folders the job is known to use. `reason`: why no better mode was
    possible."""

    mode: FileMode
    place: Path | None = None
    work: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def notice(self) -> str | None:
        """What the user must know before the job starts."""
        if self.mode is not FileMode.NONE:
            return None
        return (
            f"the job's files cannot be protected here ({self.reason}): whatever the job writes or deletes is written "
            "and deleted for real; to avoid that, run it in a copy of its folder"
        )


def choose_files(job: JobSpec, *, libraries: Path, allow_writes: bool) -> Files:
    env, cwd = job.environment, Path(job.folder)
    forced, reason = env.get(FORCE), None
    if allow_writes or forced == FileMode.ALLOWED:
        return Files(mode=FileMode.ALLOWED)
    places = candidates(env, cache_dir(env), cwd)
    work = _work_folders(env, cwd, job.command)
    if forced in (None, FileMode.OVERLAY):
        place = place_for(mounts(_mountinfo()), places)
        if place is None:
            reason = "no disk that can hold an overlay"
        else:
            files = Files(mode=FileMode.OVERLAY, place=place, work=work)
            reason = _probe(files, libraries, env)
            if reason is None:
                return files
    if forced in (None, FileMode.INTERPOSER):
        place = place_for((), places)
        if place is not None and (libraries / INTERPOSER).exists():
            return Files(mode=FileMode.INTERPOSER, place=place, work=work, reason=reason)
        reason = "no folder for the layer can be written" if place is None else "the interposer is not installed"
    return Files(mode=FileMode.NONE, reason=reason or f"{FORCE}={forced}")


def overlay_steps(files: Files, layer: Layer) -> list[str] | None:
    found = mounts(_mountinfo())
    plan = root_steps if os.geteuid() == 0 else user_steps
    return plan(found, layer.folder, kept=layer.kept, work=files.work)


def _probe(files: Files, libraries: Path, env: Mapping[str, str]) -> str | None:
    """Makes the mounts once, to see whether that works. Why it failed, or None."""
    program = libraries / ENTER
    if files.place is None or not program.exists():
        return f"{ENTER} is not installed"
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        with open_layer(files.place, kept=(), env=env) as layer:
            steps = overlay_steps(files, layer)
            if steps is None:
                return "a folder of the job belongs to another user or group"
            child, problem = enter(program, [*steps, "exec", str(program)], env={}, **quiet)
            child.wait()
    except OSError as error:
        return f"overlay: {error.strerror}"
    return f"{problem[0]}: {os.strerror(problem[1])}" if problem else None


def _work_folders(env: Mapping[str, str], cwd: Path, words: Sequence[str]) -> tuple[str, ...]:
    """Existing folders that the job is likely to write to: its own, the user's, and what its arguments name."""
    named = [word.rpartition("=")[2] for word in words if "/" in word]
    paths = [cwd, *(Path(env[name]) for name in ("HOME", "TMPDIR") if env.get(name)), *(cwd / name for name in named)]
    return tuple(dict.fromkeys(str(folder) for path in paths if (folder := _existing_folder(path)) is not None))


def _existing_folder(path: Path) -> Path | None:
    try:
        path = path.resolve()
        return next((folder for folder in (path, *path.parents) if folder.is_dir()), None)
    except (OSError, RuntimeError):
        return None


def _mountinfo() -> str:
    return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
