"""Where in the user's code something happened."""

from __future__ import annotations

import functools
import linecache
import os
import sys
import sysconfig
import threading
import traceback
from types import FrameType, TracebackType
from typing import NamedTuple

_LIBRARY_FOLDERS = tuple(
    os.path.realpath(sysconfig.get_paths()[key]) + os.sep for key in ("stdlib", "platstdlib", "purelib", "platlib")
)
_PACKAGE_FOLDERS = tuple(os.path.realpath(sysconfig.get_paths()[key]) + os.sep for key in ("purelib", "platlib"))
_OWN_FOLDER = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "..")) + os.sep  # the package
_real_path = functools.cache(os.path.realpath)  # asked for every frame of every read of an unknown value


def is_users(filename: str) -> bool:
    """Whether the file is the user's own: not the standard library, an installed package, or ours."""
    path = _real_path(filename)
    return not filename.startswith("<") and not path.startswith((*_LIBRARY_FOLDERS, _OWN_FOLDER))


def is_library(filename: str) -> bool:
    """Whether the file is an installed package's other than torch: a framework's, which may hold the training loop."""
    path = _real_path(filename)
    packages = path.startswith(_PACKAGE_FOLDERS) and not path.startswith(_OWN_FOLDER)
    return packages and not path.split("site-packages" + os.sep)[-1].startswith("torch" + os.sep)


class Place(NamedTuple):
    """A line of the user's code; all None where there is none."""

    file: str | None = None
    line: int | None = None
    code: str | None = None


def current() -> Place:
    """The innermost line of the user's code now. Backward runs in threads without Python frames: then the main's."""
    place = _describe(_walk(sys._getframe(1)))
    if place.file is None:
        main = sys._current_frames().get(threading.main_thread().ident or 0)
        place = _describe(_walk(main))
    return place


def innermost() -> tuple[str, str]:
    """File and source line that called us, be it the user's or a library's."""
    for frame, line in traceback.walk_stack(sys._getframe(1)):
        name = frame.f_code.co_filename
        if not _real_path(name).startswith(_OWN_FOLDER):
            return name, linecache.getline(name, line)
    return "", ""


def of_traceback(tb: TracebackType | None) -> Place:
    """The innermost line of the user's code that the exception passed through."""
    return _describe([(frame, line) for frame, line in traceback.walk_tb(tb)][::-1])


def raised_by_us(tb: TracebackType | None) -> tuple[str, int] | None:
    """File and line, if the exception came out of our own code: its innermost frame is ours, and not one that only
    passes the job's call on to PyTorch, whose C++ leaves no frame (`original(...)` in steering/, or guard.py)."""
    frames = list(traceback.walk_tb(tb))
    if not frames:
        return None
    frame, line = frames[-1]
    name = frame.f_code.co_filename
    passes_on = name.endswith(f"{os.sep}guard.py") or "original(" in linecache.getline(name, line)
    return (name, line) if _real_path(name).startswith(_OWN_FOLDER) and not passes_on else None


def _walk(frame: FrameType | None) -> list[tuple[FrameType, int]]:
    return list(traceback.walk_stack(frame)) if frame is not None else []


def _describe(frames: list[tuple[FrameType, int]]) -> Place:
    """Frames innermost first; the first of the user's own gives the place."""
    for frame, line in frames:
        name = frame.f_code.co_filename
        if is_users(name):
            return Place(name, line, linecache.getline(name, line).strip() or None)
    return Place()
