"""Caches of a run: what compilers and libraries would otherwise write to the user's own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def cache_dir(base: Mapping[str, str]) -> Path | None:
    """The folder for what later runs can reuse; None where the user has no cache folder."""
    home = base.get("HOME")
    caches = base.get("XDG_CACHE_HOME") or (f"{home}/.cache" if home else "")
    if not caches:
        return None
    folder = Path(caches) / "veritasest"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder


@contextmanager
def compiler_caches(base: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Variables that lead torch.compile away from the user's caches.

    A first compilation tries kernels out in device memory, which takes more of it than a run that finds them compiled,
    so that Inductor starts with an empty cache each time. And what it times on the emulated device must never be taken
    for a measurement by a later run on a GPU. Triton's machine code depends on neither, and is kept.
    """
    with tempfile.TemporaryDirectory(prefix="veritasest-", ignore_cleanup_errors=True) as folder:
        yield {
            "TORCHINDUCTOR_CACHE_DIR": str(Path(folder) / "inductor"),
            "TRITON_CACHE_DIR": str((cache_dir(base) or Path(folder)) / "triton"),
        }
