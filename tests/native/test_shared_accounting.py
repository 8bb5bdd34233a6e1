"""The engine reads the accounting of device memory that native/core/shared.c writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from prerequisites import native_core
from veritasest.engines.emulated.accounting import SharedAccounting

USE_THE_DEVICE = """
import ctypes, sys
device = ctypes.CDLL(sys.argv[1])
device.vest_alloc.restype = ctypes.c_void_p
assert device.vest_alloc(0, ctypes.c_uint64(2 << 20))
print("ready", flush=True)
sys.stdin.read()
"""


def start(accounting: SharedAccounting, folder: Path) -> subprocess.Popen[bytes]:
    document = folder / "run.json"
    document.write_text(json.dumps({"native": {"books": str(accounting.path)}}))
    process = subprocess.Popen(
        [sys.executable, "-c", USE_THE_DEVICE, str(native_core())],
        env={**os.environ, "VERITASEST_RUN": str(document)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def test_a_process_that_uses_the_device_is_listed_and_its_end_is_found_once(tmp_path: Path) -> None:
    with SharedAccounting() as accounting:
        assert accounting.processes() == []
        with start(accounting, tmp_path) as lives, start(accounting, tmp_path) as dies:
            assert (accounting.processes(), accounting.ended()) == ([lives.pid, dies.pid], [])
            dies.send_signal(signal.SIGKILL)
            os.waitid(os.P_PID, dies.pid, os.WEXITED | os.WNOWAIT)  # ended, but not reaped: its memory is free
            assert (accounting.ended(), accounting.ended()) == ([dies.pid], [])
            lives.communicate()
        assert accounting.ended() == [lives.pid]


def test_the_accounting_leaves_no_file_behind() -> None:
    with SharedAccounting() as accounting:
        path = accounting.path
        assert path.stat().st_blocks * 512 < 64 << 10  # sparse
    assert not path.exists()
