"""Every line that the native part writes into a trace is one of the records that Python reads, field by field."""

from __future__ import annotations

import dataclasses
import json
import re
import types
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from native import run_native
from veritasest.gpus import find
from veritasest.spec.run import RunSpec
from veritasest.trace import TraceWriter, read
from veritasest.trace.events import KINDS, SCHEMA, Header

WRITER = Path(__file__).parents[2] / "native" / "core" / "trace.c"
COMMON = {"kind", "pid", "t"}
LARGEST = 2**64 - 1

# Per kind of record: the function, its arguments (numbers as 64 bits), and the fields they must arrive as.
CALLS: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "segment": (
        "vest_log_segment",
        ["alloc", 3, 2**40, 2**46, LARGEST],
        {"op": "alloc", "device": 3, "bytes": 2**40, "address": 2**46, "used_bytes": LARGEST},
    ),
    "refused": (
        "vest_log_refused",
        ["cublas", 1, 7, 8, LARGEST],
        {"owner": "cublas", "device": 1, "bytes": 7, "used_bytes": 8, "limit_bytes": LARGEST},
    ),
    "library": (
        "vest_log_library",
        ["cudnn", 2, -(2**40), 2**41],
        {"library": "cudnn", "device": 2, "bytes": -(2**40), "libraries_bytes": 2**41},
    ),
    "workspace": (
        "vest_log_workspace",
        ["cublas", 2**46, 2**25],
        {"library": "cublas", "address": 2**46, "bytes": 2**25},
    ),
    "deferred_free": ("vest_log_deferred_free", [], {"device": 0}),
    "misuse": ("vest_log_misuse", ["free of nothing", 2**46], {"what": "free of nothing", "address": 2**46}),
    "process_exit": ("vest_log_exit", [255], {"code": 255}),
    "gone": ("vest_log_gone", [2**22], {"process": 2**22}),
    "killed": ("vest_log_killed", [2**22, 9], {"process": 2**22, "signal": 9}),
    "own_error": (
        "vest_log_own_error",
        ["books", "too many processes"],
        {"where": "books", "type": "native", "message": "too many processes"},
    ),
    "unmodelled": (
        "vest_log_unmodelled",
        ["cufft", "cufftXtExec", "refused"],
        {"library": "cufft", "name": "cufftXtExec", "how": "refused"},
    ),
}

CALL_ALL = """
for name, arguments in {calls!r}:
    given = [text.encode() if isinstance(text, str) else ctypes.c_uint64(text % 2**64) for text in arguments]
    getattr(core, name).restype = None
    getattr(core, name)(*given)
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace with one line of every kind, in the order of CALLS."""
    folder = tmp_path_factory.mktemp("trace")
    path = folder / "trace.jsonl"
    run = RunSpec(gpu=find("h200"), limit_bytes=None)
    header = Header(schema=SCHEMA, created="", command=(), veritasest="", run=run, allocator_conf=None, host={})
    with TraceWriter(path) as trace:
        trace.header(header)
    calls = [(name, arguments) for name, arguments, _ in CALLS.values()]
    run_native(CALL_ALL.format(calls=calls), {"trace": str(path)}, folder)
    return path


def records(path: Path) -> dict[str, dict[str, Any]]:
    return {record["kind"]: record for record in map(json.loads, path.read_text().splitlines()[1:])}


def is_a(value: object, hint: Any) -> bool:
    if get_origin(hint) in (Union, types.UnionType):
        return any(is_a(value, option) for option in get_args(hint))
    return type(value) is hint


def test_every_kind_in_the_source_is_exercised() -> None:
    kinds = re.findall(r'\bappend\("(\w+)"', WRITER.read_text())
    assert sorted(set(kinds)) == sorted(CALLS)


def test_every_logging_function_is_exercised() -> None:
    functions = set(re.findall(r"^void (vest_log_\w+)\(", WRITER.read_text(), re.MULTILINE))
    assert functions == {function for function, _, _ in CALLS.values()}


def test_lines_are_read_back_with_the_values_that_were_written(lines: Path) -> None:
    trace = read(lines)
    assert trace.unreadable_lines == 0
    expected = [(KINDS[kind], fields) for kind, (_, _, fields) in CALLS.items()]
    assert [
        (type(event), {name: getattr(event, name) for name in fields})
        for event, (_, fields) in zip(trace.events, expected, strict=True)
    ] == expected


@pytest.mark.parametrize("kind", CALLS)
def test_every_field_written_is_a_field_of_the_record_with_its_type(kind: str, lines: Path) -> None:
    record = records(lines)[kind]
    hints = get_type_hints(KINDS[kind])
    assert set(record) - {"kind"} <= set(hints)
    wrong = {name: value for name, value in record.items() if name != "kind" and not is_a(value, hints[name])}
    assert wrong == {}


@pytest.mark.parametrize("kind", CALLS)
def test_every_field_without_a_default_is_written(kind: str, lines: Path) -> None:
    missing = dataclasses.MISSING
    required = {
        field.name
        for field in dataclasses.fields(KINDS[kind])
        if field.default is missing and field.default_factory is missing
    }
    assert required <= set(records(lines)[kind])


def test_only_the_expected_fields_are_written(lines: Path) -> None:
    written = {kind: set(record) - COMMON for kind, record in records(lines).items()}
    assert written == {kind: set(fields) for kind, (_, _, fields) in CALLS.items()}
