"""Questions to the built libraries, in a separate process, with a GPU that the test chooses. No PyTorch is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prerequisites import native_installation

LIBRARIES = native_installation().libraries

# Reads questions from standard input, one per line; the library's answers and what was logged go to standard output.
_ASKER = """
import ctypes, json, os, sys
from pathlib import Path

class Workspace(ctypes.Structure):
    _fields_ = [("base", ctypes.c_int64), ("fact", ctypes.c_int), ("unrecorded", ctypes.c_int),
                ("bytes", ctypes.c_int64), ("most", ctypes.c_int64)]

class Query(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("version", ctypes.c_int), ("unrecorded", ctypes.c_bool),
                ("most", ctypes.c_uint64)]

core = ctypes.CDLL(sys.argv[1] + "/libveritasest.so", mode=ctypes.RTLD_GLOBAL)
core.vest_fact_size.restype = ctypes.c_uint64

def fact(number, name, version, unrecorded, most, size):
    query = Query(name.encode(), version, unrecorded, most)
    return core.vest_fact_size(number, ctypes.byref(query), ctypes.c_uint64(size))

def call(library, function, arguments, outputs):
    made = [getattr(ctypes, "c_" + kind)() for kind in outputs]
    passed = [ctypes.c_int(one) if isinstance(one, int) else None for one in arguments]
    status = getattr(ctypes.CDLL(sys.argv[1] + "/" + library), function)(*passed, *map(ctypes.byref, made))
    return [status, *(one.value for one in made)]

def text(library, function):
    out = ctypes.create_string_buffer(80)
    getattr(ctypes.CDLL(sys.argv[1] + "/" + library), function)(out, 80)
    return out.value.decode()

def plan(text, deviceless):
    made = Workspace()
    library = ctypes.CDLL(sys.argv[1] + "/libveritasest_cudnn.so.9")
    library.vest_hopper_workspace(text.encode(), ctypes.c_int64(deviceless), ctypes.byref(made))
    return {name: getattr(made, name) for name, _ in Workspace._fields_}

for line in sys.stdin:
    kind, arguments = json.loads(line)
    print(json.dumps({"fact": fact, "call": call, "text": text, "plan": plan}[kind](*arguments)))
"""


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """What decides whether a fact is exact."""

    cc: int = 90
    sms: int = 132
    name: str = "NVIDIA H200"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The answers, in the order of the questions, and what was recorded as a guess: how, by library and name."""

    answers: tuple[Any, ...]
    guesses: Mapping[tuple[str, str], str]


def device_environment(gpu: Gpu, trace: Path, guesses: str | None) -> dict[str, str]:
    """With settings that say which GPU to emulate, where to log, and which bound guesses take."""
    settings = {"trace": str(trace), "gpu_cc": gpu.cc, "gpu_sms": gpu.sms, "gpu_name": gpu.name}
    document = trace.with_name("run.json")
    document.write_text(json.dumps({"native": settings | ({"guesses": guesses} if guesses else {})}))
    clean = {key: value for key, value in os.environ.items() if not key.startswith("VERITASEST_")}
    return {**clean, "VERITASEST_RUN": str(document)}


def ask(questions: Sequence[tuple[str, tuple[Any, ...]]], *, gpu: Gpu, guesses: str | None = None) -> Reply:
    """The answers of the built libraries on `gpu`. A guess is recorded once per name and process."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        trace.touch()  # the libraries append to it and never create it
        done = subprocess.run(
            [sys.executable, "-c", _ASKER, str(LIBRARIES)],
            input="".join(json.dumps(question) + "\n" for question in questions),
            env=device_environment(gpu, trace, guesses),
            capture_output=True,
            text=True,
            check=True,
        )
        events = [json.loads(line) for line in trace.read_text().splitlines()]
    return Reply(
        answers=tuple(json.loads(line) for line in done.stdout.splitlines()),
        guesses={(e["library"], e["name"]): e["how"] for e in events if e["kind"] == "unmodelled"},
    )
