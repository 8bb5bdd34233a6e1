"""Check whether this machine can run estimates, and what to do if not.

exit codes: 0 ready, 4 something is missing
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from veritasest.api import estimate
from veritasest.cli.parser import Parser
from veritasest.engines.emulated.build import inspect_build
from veritasest.engines.emulated.libraries import installed
from veritasest.engines.emulated.support import is_tested, tested_versions
from veritasest.errors import UnsupportedEnvironment, VeritasEstError
from veritasest.launch import resolve
from veritasest.spec.enums import Verdict
from veritasest.units import format_bytes

_SELF_TEST = """
import torch
layer = torch.nn.Linear(256, 256, device="cuda")
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for _ in range(3):
    layer(torch.zeros(8, 256, device="cuda")).sum().backward()
    optimizer.step()
"""
_LITTLE_MEMORY_BYTES = 4 << 30


EXAMPLE = "doctor"


def main(argv: Sequence[str]) -> int:
    Parser("doctor", __doc__).parse_args(argv)
    console = Console(highlight=False)
    checks: Sequence[tuple[str, Callable[[], str]]] = (
        ("platform", _platform),
        ("emulated device", _libraries),
        ("PyTorch", _torch),
        ("host memory", _memory),
        ("self test", _self_test),
    )
    healthy = True
    for label, check in checks:
        try:
            mark, style, text, hint = "ok", "green", check(), ""
        except VeritasEstError as error:
            mark, style, text, hint = "missing", "red", error.message, error.hint
            healthy = False
        console.print(Text(f"{mark:<8}", style=style) + Text(f"{label:<16} {text}"), soft_wrap=True)
        if hint:
            console.print(Text(f"{'':<25}{hint}", style="yellow"), soft_wrap=True)
    return 0 if healthy else UnsupportedEnvironment.exit_code


def _platform() -> str:
    found = f"{sys.platform} {platform.machine()}, {' '.join(platform.libc_ver())}, Python {platform.python_version()}"
    if sys.platform != "linux" or platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
        raise UnsupportedEnvironment(found, "estimates run on Linux x86-64 with glibc: use such a machine or container")
    return found


def _libraries() -> str:
    installation = installed()
    core = installation.libraries / "libveritasest.so"
    try:
        ctypes.CDLL(str(core))
    except OSError as error:
        raise UnsupportedEnvironment(f"{core} cannot be loaded: {error}", "reinstall it on this machine") from error
    counts = ", ".join(f"CUDA {major}: {len(installation.preload(major))}" for major in (12, 13))
    return f"{installation.libraries} ({counts} libraries)"


def _torch() -> str:
    python = resolve(["-c", ""], cwd=Path.cwd(), env=os.environ).command[0]
    build = inspect_build(python, cwd=Path.cwd(), env=os.environ)
    tested = "tested" if is_tested(build.version) else f"not tested; tested: {', '.join(tested_versions())}"
    return f"{build.version} in {build.python} ({tested})"


def _memory() -> str:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    overcommit = _overcommit()
    if overcommit == "2":
        raise UnsupportedEnvironment(
            "vm.overcommit_memory is 2: device memory cannot be mapped lazily", "sudo sysctl vm.overcommit_memory=0"
        )
    note = "; low: models are built in host memory" if total < _LITTLE_MEMORY_BYTES else ""
    return f"{format_bytes(total)}, {os.cpu_count()} CPUs{note}"


def _overcommit() -> str:
    try:
        return Path("/proc/sys/vm/overcommit_memory").read_text().strip()
    except OSError:
        return "unknown"


def _self_test() -> str:
    """Trains a small layer: what no single check above can prove."""
    with tempfile.TemporaryDirectory(prefix="veritasest-") as folder:
        script = Path(folder) / "self_test.py"
        script.write_text(_SELF_TEST)
        result = estimate([str(script)], gpu="h200", steps=3, timeout_s=60, save=Path(folder) / "recording")
    if result.verdict is not Verdict.FITS or not result.peak.reserved_bytes:
        reason = result.failure.message if result.failure else "; ".join(result.warnings)
        raise UnsupportedEnvironment(f"a small CUDA job did not run: {reason}", "please report this with its output")
    return f"a small CUDA job reserved {format_bytes(result.peak.reserved_bytes)} in {result.elapsed_s:.1f} s"
