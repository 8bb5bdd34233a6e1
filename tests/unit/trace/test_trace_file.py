import json
import os
from pathlib import Path

import pytest

from veritasest.errors import TraceError
from veritasest.gpus import find
from veritasest.spec.codec import to_plain
from veritasest.spec.run import RunSpec
from veritasest.trace import SCHEMA, Blocks, Header, Misuse, Segment, Step, Tail, TraceWriter, read

HEADER = Header(
    schema=SCHEMA,
    created="2026-01-01T00:00:00+00:00",
    command=("python", "train.py"),
    veritasest="0.1.0",
    run=RunSpec(gpu=find("h200"), limit_bytes=None),
    allocator_conf=None,
    host={},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with TraceWriter(tmp_path / "trace.jsonl") as trace:
        trace.header(HEADER)
        trace.write(Segment(op="alloc", device=0, bytes=2, address=1, used_bytes=2))
    return tmp_path / "trace.jsonl"


def test_what_is_written_is_read_back(path: Path) -> None:
    trace = read(path)
    (segment,) = trace.of(Segment)
    assert (segment.pid, segment.bytes, trace.header.command) == (os.getpid(), 2, ("python", "train.py"))


def test_a_torn_last_line_is_counted_and_the_rest_read(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"kind":"segment","op":"al')
    trace = read(path)
    assert (len(trace.events), trace.unreadable_lines) == (1, 1)


def test_unknown_kinds_and_fields_are_skipped(path: Path) -> None:
    with path.open("a") as file:
        file.write('{"kind":"aurora","pid":1,"t":0,"colour":"green"}\n')
        file.write('{"kind":"misuse","pid":1,"t":0,"what":"freed twice","address":4,"mood":"bad"}\n')
    assert read(path).of(Misuse) == (Misuse(pid=1, what="freed twice", address=4),)
    assert len(read(path).events) == 2
    assert read(path).unreadable_lines == 0


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "new.jsonl"
    file.write_text(json.dumps({"kind": "header", **to_plain(HEADER), "schema": SCHEMA + 1}) + "\n")
    with pytest.raises(TraceError, match=f"schema {SCHEMA + 1}"):
        read(file)


@pytest.mark.parametrize("content", [b"", b"\x00\xff\n", b"[]\n", b'"x"\n'])
def test_a_file_that_is_not_a_trace_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x"
    file.write_bytes(content)
    with pytest.raises(TraceError, match="not a VeritasEst trace"):
        read(file)


def test_the_tail_waits_for_whole_lines_and_skips_history(path: Path) -> None:
    tail = Tail(path)
    tail.poll()
    with TraceWriter(path) as trace:
        trace.write(Blocks(device=0, step=0, actions="a", addresses=(1,), sizes=(512,)))
        trace.write(Step(step=1, allocated_peak_bytes=1, reserved_peak_bytes=1))
    with path.open("ab") as file:
        file.write(b'{"kind":"step","pid":1,"t":0,"step":2,"allocated_peak_by')
        file.flush()
        assert [type(event) for event in tail.poll()] == [Step]
        file.write(b'tes":1,"reserved_peak_bytes":1}\n')
        file.flush()
        assert [event.step for event in tail.poll() if isinstance(event, Step)] == [2]
    tail.close()
    assert len(read(path).of(Blocks)) == 1


def test_a_forked_child_writes_under_its_own_process_id(path: Path) -> None:
    with TraceWriter(path) as trace:
        child = os.fork()
        if child == 0:
            trace.write(Misuse(what="child"))
            os._exit(0)
        os.waitpid(child, 0)
    assert read(path).events[-1].pid == child


def test_a_torn_line_does_not_spoil_the_next_record(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"kind":"segment","op":"al')
    with TraceWriter(path) as trace:
        trace.end_torn_line()
        trace.write(Misuse(what="after"))
    found = read(path)
    assert (found.of(Misuse)[0].what, found.unreadable_lines) == ("after", 1)


def test_fields_at_their_defaults_are_not_written(path: Path) -> None:
    with TraceWriter(path) as trace:
        trace.write(Step(step=1, allocated_peak_bytes=0, reserved_peak_bytes=0))
    written = json.loads(path.read_text().splitlines()[-1])
    assert set(written) == {"kind", "pid", "t", "step", "allocated_peak_bytes", "reserved_peak_bytes"}
