"""Where results come from: machine, versions, and the commit, which has to be clean before anything is published."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from datetime import datetime, timezone
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from benchmarks.truth_files import ROOT

COMMIT_VARIABLE = "BENCHMARK_COMMIT"
DIRTY = "-dirty"


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    except OSError:  # no git on this machine
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def current_commit(given: str | None = None) -> str | None:
    """As given, or as BENCHMARK_COMMIT says, or from git, with `-dirty` if there are uncommitted changes."""
    if named := given or os.environ.get(COMMIT_VARIABLE):
        return named
    commit = _git("rev-parse", "--short=10", "HEAD")
    return commit and commit + (DIRTY if _git("status", "--porcelain") else "")


def is_clean(commit: str | None) -> bool:
    """Whether this names a commit, without uncommitted changes."""
    return commit is not None and re.fullmatch(r"[0-9a-f]{7,40}", commit) is not None


def package_hash() -> str:
    """Of the installed package: estimates of another build are not the same."""
    folder = Path(find_spec("veritasest").submodule_search_locations[0])
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            digest.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def estimate_provenance(commit: str | None) -> dict:
    from veritasest import __version__

    return {
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "build": package_hash(),
        "commit": commit,
        "veritasest": __version__,
        "torch": version("torch"),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
    }
