"""Shared by the recorders: bound library functions, a checked status, JSON lines with their provenance first.

A recorder asks the installed libraries for sizes on a real GPU and writes the answers, without any judgement.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path

import torch

Config = dict[str, object]
Ask = Callable[[Config], dict[str, object]]

SONAMES = {
    "cudnn": "libcudnn.so.9",
    "cufft": "libcufft.so.12",
    "cusolver": "libcusolver.so.12",
    "cusparse": "libcusparse.so.12",
}
C_TYPES = {
    "p": ctypes.c_void_p,
    "i": ctypes.c_int,
    "u": ctypes.c_uint,
    "l": ctypes.c_longlong,
    "U": ctypes.c_ulonglong,
    "z": ctypes.c_size_t,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
}


class RefusedError(Exception):
    """A library call did not return success (0, in all four libraries)."""

    def __init__(self, call: str, status: int) -> None:
        super().__init__(f"{call} returned {status}")
        self.call = call
        self.status = status


def load(soname: str) -> ctypes.CDLL:
    """By name, as PyTorch has loaded it; otherwise from its wheel, since PyTorch loads some only when needed."""
    try:
        return ctypes.CDLL(soname)
    except OSError:
        found = sorted(Path(torch.__file__).parents[1].glob(f"nvidia/*/lib/{soname}"))
        if not found:
            raise
        return ctypes.CDLL(str(found[0]))


class Library:
    """Functions of a library that PyTorch has loaded; a preloaded library goes first, as it does for PyTorch."""

    def __init__(self, name: str) -> None:
        self._places = [ctypes.CDLL(None), load(SONAMES[name])]
        self._bound: dict[str, Callable[..., int]] = {}

    def _find(self, name: str) -> Callable[..., int]:
        for place in self._places:
            if hasattr(place, name):
                return getattr(place, name)
        raise RefusedError(f"{name} (no such function)", -1)

    def call(self, name: str, codes: str, *arguments: object) -> None:
        """Call with one letter of `codes` per argument (see C_TYPES; `p` is every pointer and descriptor)."""
        if len(codes) != len(arguments):
            raise TypeError(f"{name}: {len(codes)} types for {len(arguments)} arguments")
        function = self._bound.get(name)
        if function is None:
            function = self._bound[name] = self._find(name)
            function.argtypes = [C_TYPES[code] for code in codes]
            function.restype = ctypes.c_int
        status = function(*arguments)
        if status != 0:
            raise RefusedError(name, status)

    def create(self, name: str) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self.call(name, "p", ctypes.byref(made))
        return made

    def size(self, name: str, codes: str, *arguments: object) -> int:
        """The size that a call writes to its last argument, which is added here; its letter in `codes` is `p`."""
        answer = ctypes.c_size_t()
        self.call(name, codes, *arguments, ctypes.byref(answer))
        return answer.value

    def count(self, name: str, codes: str, *arguments: object) -> int:
        """As `size`, for calls that write an `int`."""
        answer = ctypes.c_int()
        self.call(name, codes, *arguments, ctypes.byref(answer))
        return answer.value


def ints(values: Iterable[int]) -> ctypes.Array[ctypes.c_int]:
    numbers = list(values)
    return (ctypes.c_int * len(numbers))(*numbers)


def wides(values: Iterable[int]) -> ctypes.Array[ctypes.c_longlong]:
    numbers = list(values)
    return (ctypes.c_longlong * len(numbers))(*numbers)


def attempt(answers: dict[str, object], name: str, ask: Callable[[], object]) -> None:
    """One of several questions about a configuration: its answer, or the refusal, under its own name."""
    try:
        answers[name] = ask()
    except RefusedError as refused:
        answers[name] = None
        answers[f"{name}_refused"] = [refused.call, refused.status]


def shuffled(configurations: Iterable[Config], seed: int = 1) -> list[Config]:
    """In a fixed random order, so that a run cut short by its time limit still has some of everything."""
    ordered = list(configurations)
    random.Random(seed).shuffle(ordered)
    return ordered


def driver_version() -> str:
    words = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _library_version(name: str) -> int | None:
    library = Library(name)
    version = ctypes.c_int()
    try:
        if name == "cusparse":
            handle = library.create("cusparseCreate")
            library.call("cusparseGetVersion", "pp", handle, ctypes.byref(version))
        else:
            library.call(f"{name}GetVersion", "p", ctypes.byref(version))
    except RefusedError:
        return None
    return version.value


def provenance() -> dict[str, object]:
    properties = torch.cuda.get_device_properties(0)
    return {
        "provenance": True,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "gpu": properties.name,
        "sm_count": properties.multi_processor_count,
        "compute_capability": [properties.major, properties.minor],
        "driver": driver_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        **{name: _library_version(name) for name in ("cufft", "cusolver", "cusparse")},
        "python": platform.python_version(),
    }


def record(path: Path, configurations: list[Config], ask: Ask, *, limit_s: float) -> None:
    """One line per configuration. A refusal is a result; only the time limit ends the run early."""
    begun = time.monotonic()
    refused = 0
    with path.open("w") as file:
        file.write(json.dumps(provenance()) + "\n")
        for index, configuration in enumerate(configurations):
            if time.monotonic() - begun > limit_s:
                print(f"time limit of {limit_s:.0f} s: {index} of {len(configurations)} recorded", file=sys.stderr)
                break
            try:
                answers = {"status": 0, **ask(configuration)}
            except RefusedError as error:
                refused += 1
                answers = {"status": error.status, "refused_by": error.call}
            except RuntimeError as error:  # from PyTorch: out of memory, an unsupported shape
                refused += 1
                answers = {"status": -1, "refused_by": str(error).splitlines()[0]}
            file.write(json.dumps({**configuration, **answers}) + "\n")
            file.flush()
    elapsed_s = time.monotonic() - begun
    print(f"{path}: {len(configurations)} configurations, {refused} refused, {elapsed_s:.1f} s", file=sys.stderr)


def parse(description: str | None, argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="where the JSON lines go")
    parser.add_argument("--dry-run", action="store_true", help="print the configurations; no GPU is needed")
    parser.add_argument("--limit", type=float, default=85.0, metavar="SECONDS", help="stop asking after this time")
    options = parser.parse_args(argv)
    if options.folder is None and not options.dry_run:
        parser.error("a folder for the answers is needed (or --dry-run)")
    return options


def run(
    *,
    name: str,
    description: str | None,
    configurations: list[Config],
    start: Callable[[], Ask],
    argv: list[str] | None,
) -> int:
    """A recorder's `main`: `start` is called on the GPU and returns the function that asks for one size."""
    options = parse(description, argv)
    if options.dry_run:
        for configuration in configurations:
            print(json.dumps(configuration))
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.cuda.init()
    torch.empty(1, device="cuda")  # the context
    record(options.folder / f"{name}.jsonl", configurations, start(), limit_s=options.limit)
    return 0
