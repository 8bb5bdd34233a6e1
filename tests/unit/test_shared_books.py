"""The launcher reads the books that native/core/shared.c writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from veritasest.engines.emulated.accounting import SharedBooks
from veritasest.engines.emulated.libraries import installed
from veritasest.errors import UnsupportedEnvironment

USE_THE_DEVICE = """
import ctypes, sys
device = ctypes.CDLL(sys.argv[1])
device.vest_alloc.restype = ctypes.c_void_p
assert device.vest_alloc(0, ctypes.c_uint64(2 << 20))
print("ready", flush=True)
sys.stdin.read()
"""


def start(books: SharedBooks, folder: Path) -> subprocess.Popen[bytes]:
    try:
        library = installed().libraries / "libveritasest.so"
    except UnsupportedEnvironment as error:
        pytest.skip(str(error))
    document = folder / "run.json"
    document.write_text(json.dumps({"native": {"books": str(books.path)}}))
    process = subprocess.Popen(
        [sys.executable, "-c", USE_THE_DEVICE, str(library)],
        env={**os.environ, "VERITASEST_RUN": str(document)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def test_a_process_that_uses_the_device_is_in_the_books_and_its_death_is_found_once(tmp_path: Path) -> None:
    with SharedBooks() as books:
        assert books.processes() == []
        with start(books, tmp_path) as lives, start(books, tmp_path) as dies:
            assert (books.processes(), books.ended()) == ([lives.pid, dies.pid], [])
            dies.send_signal(signal.SIGKILL)
            os.waitid(os.P_PID, dies.pid, os.WEXITED | os.WNOWAIT)  # dead, and not reaped: its memory is free
            assert (books.ended(), books.ended()) == ([dies.pid], [])
            lives.communicate()
        assert books.ended() == [lives.pid]


def test_the_books_leave_no_file_behind() -> None:
    with SharedBooks() as books:
        path = books.path
        assert path.stat().st_blocks * 512 < 64 << 10  # sparse
    assert not path.exists()
