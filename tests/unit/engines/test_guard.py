"""Internal errors: reported once, and the job gets what it would have got without the agent."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from veritasest.engines.emulated.agent import guard
from veritasest.engines.emulated.agent.guard import guarded, theirs
from veritasest.gpus import find
from veritasest.spec.run import RunSpec
from veritasest.trace import SCHEMA, Header, OwnError, TraceWriter, read


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "trace.jsonl"
    with TraceWriter(path) as trace:
        trace.header(
            Header(
                schema=SCHEMA,
                created="",
                command=(),
                veritasest="",
                run=RunSpec(gpu=find("h200"), limit_bytes=None),
                allocator_conf=None,
                host={},
            )
        )
        guard.use(trace)
        yield path
    guard._trace = None


class Job(Exception):
    """Raised by the job."""


def broken(*_: Any) -> None:
    raise KeyError("ours")


def test_an_internal_error_is_recorded_once_and_switches_the_part_off(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = []

    @guarded("a part", lambda number: -number)
    def part(number: int) -> int:
        calls.append(number)
        broken()
        return number

    assert [part(1), part(2)] == [-1, -2]
    assert calls == [1]
    (error,) = read(path).of(OwnError)
    assert (error.where, error.type, error.message) == ("a part", "KeyError", "'ours'")
    assert "internal error in a part, the job continues: KeyError('ours')" in capsys.readouterr().err


def test_without_anything_instead_the_answer_is_none(path: Path) -> None:
    assert guarded("a part")(broken)() is None
    assert len(read(path).of(OwnError)) == 1


def test_an_error_of_the_job_passes_through_and_the_part_stays_on(path: Path) -> None:
    def fails_at(number: int) -> int:
        if number == 2:
            raise Job("two")
        return number

    @guarded("a part", lambda _: -1)
    def part(number: int) -> int:
        return theirs(fails_at)(number)

    assert part(1) == 1
    with pytest.raises(Job, match="two"):
        part(2)
    assert part(3) == 3
    assert not read(path).of(OwnError)


def test_an_internal_error_after_one_of_the_job_is_still_internal(path: Path) -> None:
    """An exception's id may be that of an earlier one, which is gone."""

    @theirs
    def stop() -> None:
        raise StopIteration

    for _ in range(50):
        with pytest.raises(StopIteration):
            guarded("a part")(stop)()
        assert guarded("another part")(broken)() is None
    assert len(read(path).of(OwnError)) == 50


def test_the_jobs_error_passes_through_parts_inside_parts(path: Path) -> None:
    @theirs
    def job() -> None:
        raise Job("inside")

    inner = guarded("inner")(job)
    outer = guarded("outer")(lambda: theirs(inner)())
    with pytest.raises(Job, match="inside"):
        outer()
    assert not read(path).of(OwnError)


def test_an_error_that_was_kept_for_later_still_belongs_to_the_job(path: Path) -> None:
    kept = Job("kept")
    with pytest.raises(Job, match="kept"):
        guarded("a part")(lambda: guard.reraise(kept))()
    assert not read(path).of(OwnError)


def test_what_replaces_a_failed_part_may_fail_as_the_job_would(path: Path) -> None:
    def original() -> None:
        raise Job("original")

    with pytest.raises(Job, match="original"):
        guarded("a part", original)(broken)()
    assert len(read(path).of(OwnError)) == 1


def test_nothing_of_the_job_is_kept_alive_by_an_error(path: Path) -> None:  # noqa: ARG001
    class Tensor:
        pass

    def job(_: Tensor) -> None:
        raise Job("with a tensor")

    tensor = Tensor()
    alive = weakref.ref(tensor)
    with pytest.raises(Job, match="with a tensor") as caught:
        guarded("a part")(theirs(job))(tensor)
    guarded("another part")(broken)(tensor)
    del tensor, caught
    gc.collect()
    assert alive() is None


def test_ctrl_c_is_not_an_internal_error(path: Path) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt("stop")

    with pytest.raises(KeyboardInterrupt, match="stop"):
        guarded("a part")(interrupted)()
    assert not read(path).of(OwnError)


def test_an_internal_error_that_cannot_be_recorded_is_ignored(tmp_path: Path) -> None:
    trace = TraceWriter(tmp_path / "trace.jsonl")
    guard.use(trace)
    trace.close()
    assert guarded("a part")(broken)() is None
    guard._trace = None


def test_a_guarded_function_is_called_like_the_original() -> None:
    def part(a: int, b: int = 2) -> tuple[int, int]:
        """Says what it does."""
        return a, b

    assert guarded("a part")(part)(1, b=3) == (1, 3)
    assert theirs(part)(1) == (1, 2)
    assert guarded("a part")(part).__doc__ == "Says what it does."


def test_types_of_errors_are_named_as_python_prints_them() -> None:
    assert guard.type_name(ValueError) == "ValueError"
    assert guard.type_name(Job) == f"{__name__}.Job"
    assert guard.describe("a part", KeyError("x")).type == "KeyError"
