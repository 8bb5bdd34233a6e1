"""Moves the job's own loops on: to a branch that has not run yet, to the last round, or out.

Asked right after an optimizer step, when the frames of the training loop are on the stack. A `for` loop over `range`
continues with a later value, `enumerate` with a later index, and a counter that the loop itself counts up (`step += 1`)
gets the value it would have had later. Nothing else of the job is touched: for the script, rounds were left out.

Known limitations: conditions that are not plain arithmetic on a counter are not understood (see `conditions.py`), loops
over lists and other iterables are never shortened here, and nothing is moved where `frame_reader` does not support the
interpreter.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from veritasest.engines.emulated.agent import frames
from veritasest.engines.emulated.agent.life import frame_reader
from veritasest.engines.emulated.agent.life.conditions import Condition, NotUnderstood
from veritasest.engines.emulated.agent.life.loops import Branch, Loop, Place, names_in, place_of


@dataclass(frozen=True, kw_only=True)
class NotReached:
    """`what`: the condition of a branch, or the statement, that did not run."""

    what: str
    file: str
    line: int


@dataclass(frozen=True, kw_only=True)
class _Running:
    """A loop that is on the stack, with the iterator it goes through (None in a `while` loop, or where unknown)."""

    frame: FrameType
    loop: Loop
    iterator: Any

    @property
    def range(self) -> Any:
        """The range iterator that counts the rounds, if there is one."""
        return next(frame_reader.ranges_in(self.iterator), None)


@dataclass(frozen=True, kw_only=True)
class _Way:
    """How a branch can be reached: `go()` lets its condition hold in a later round, `rounds` away."""

    branch: Branch
    file: str
    rounds: int
    go: Callable[[], None]

    @property
    def place(self) -> tuple[str, int]:
        return self.file, self.branch.line


class LoopControl:
    """`reached` holds the branches known to have run; it grows with every question."""

    def __init__(self) -> None:
        self._reader = frame_reader.FrameReader() if frame_reader.is_supported() else None
        self._first_seen: dict[tuple[str, int, str], int] = {}
        self._reached: set[tuple[str, int]] = set()
        self._tried: set[tuple[str, int]] = set()

    def note_counters(self) -> None:
        """Remembers where counters began; cheap, and asked after the first steps."""
        for running in self._loops():
            for name, value in self._counters(running):
                key = (running.frame.f_code.co_filename, running.loop.line, name)
                self._first_seen[key] = min(value, self._first_seen.get(key, value))

    def reach_next(self) -> bool:
        """Moves a loop on to the nearest branch that has not run. False: there is none that could be reached."""
        ways = [way for running in self._loops() for way in self._ways(running) if way.place not in self._tried]
        if not ways:
            return False
        nearest = min(ways, key=lambda way: way.rounds)
        self._tried.add(nearest.place)
        nearest.go()
        return True

    def shorten(self) -> bool:
        """Moves the innermost loop on to its last round, if it counts by `range`."""
        innermost = next(iter(self._loops(libraries=True)), None)
        return innermost is not None and _to_last_round(innermost)

    def leave(self) -> bool:
        """Moves all loops on to their last round, or their counters to where they end. False: none is of that kind."""
        moved = [_to_last_round(running) or self._count_out(running) for running in self._loops(libraries=True)]
        return any(moved)

    def skip_indices(self, source: Any, count: int) -> None:
        """`enumerate` over the loader `source` counts batches that were left out as if they had been given."""
        for running in self._loops():
            counted = running.iterator
            if type(counted) is enumerate and frame_reader.draws_from(counted, source):
                frame_reader.set_index(counted, frame_reader.index_of(counted) + count)
                return

    def not_reached(self) -> list[NotReached]:
        """Branches and rounds that would run later, and what comes after the loops, innermost function first."""
        found = []
        for running in self._loops():
            for way in self._ways(running):
                found.append(NotReached(what=way.branch.text, file=way.file, line=way.branch.line))
            if left := frame_reader.rounds_left(running.iterator):
                file, line = running.frame.f_code.co_filename, running.loop.line
                rounds = "round" if left == 1 else "rounds"
                found.append(NotReached(what=f"{left:,} more {rounds} of this loop", file=file, line=line))
        for frame, place in self._places():
            if place.after is not None:
                line, what = place.after
                found.append(NotReached(what=what, file=frame.f_code.co_filename, line=line))
        return list(dict.fromkeys(found))

    # The stack

    def _places(self, *, libraries: bool = False) -> Iterator[tuple[FrameType, Place]]:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if frames.is_users(code.co_filename) or (libraries and frames.is_library(code.co_filename)):
                place = place_of(code.co_filename, code.co_name, code.co_firstlineno, frame.f_lineno)
                if place is not None:
                    yield frame, place
            frame = frame.f_back

    def _loops(self, *, libraries: bool = False) -> Iterator[_Running]:
        """Innermost first."""
        for frame, place in self._places(libraries=libraries):
            iterators = dict(self._reader.iterators(frame)) if self._reader else {}
            for loop in reversed(place.loops):
                yield _Running(frame=frame, loop=loop, iterator=iterators.get(loop.line))

    # Counters and conditions

    def _lookup(self, frame: FrameType) -> Callable[[str], Any]:
        def lookup(name: str) -> Any:
            if self._reader is None:
                raise KeyError(name)
            return self._reader.variable(frame, name)

        return lookup

    def _counters(self, running: _Running) -> Iterator[tuple[str, int]]:
        """The integers that change from round to round in a known way, as they are now."""
        for name in {running.loop.counter, *running.loop.stepped} - {None}:
            try:
                value = self._lookup(running.frame)(str(name))
            except KeyError:
                continue
            if type(value) is int:
                yield str(name), value

    def _ways(self, running: _Running) -> Iterator[_Way]:
        for branch in running.loop.branches:
            key = (running.frame.f_code.co_filename, branch.line)
            if branch.leaves or key in self._reached:
                continue
            for name, now in self._counters(running):
                if name not in set(names_in(branch.test)):
                    continue
                try:
                    way = self._way(running, branch, name, now)
                except NotUnderstood:
                    continue
                if way is not None:
                    yield way
                break

    def _way(self, running: _Running, branch: Branch, name: str, now: int) -> _Way | None:
        file = running.frame.f_code.co_filename
        condition = Condition(branch.test, name, self._lookup(running.frame))
        began = self._first_seen.get((file, running.loop.line, name), now)
        if condition.first(min(began, now), now + 1) is not None:
            self._reached.add((file, branch.line))
            return None
        move = self._mover(running, name, now, branch.line)
        if move is None:
            return None
        start, stop, step, go = move
        count = condition.first(start, stop, step)
        if count is None:
            return None
        return _Way(branch=branch, file=file, rounds=(count - now) // step, go=lambda: go(count))

    def _mover(
        self, running: _Running, name: str, now: int, line: int
    ) -> tuple[int, int | None, int, Callable[[int], None]] | None:
        """From which count on, up to which, in which steps `name` can be moved, and how."""
        if name == running.loop.counter:
            values = running.range
            if values is not None:
                if not frame_reader.left_in(values):
                    return None
                following, left = frame_reader.next_value(values), frame_reader.left_in(values)
                step = frame_reader.step_of(values)
                if step < 1:
                    return None
                return following, following + left * step, step, lambda count: _skip_to(values, count)
            if type(running.iterator) is enumerate:
                counted = running.iterator
                return now + 1, None, 1, lambda count: _go_on_with(counted, count)
            return None
        reader = self._reader
        if reader is None or "." in name:
            return None
        counted_before = _increments_before(running, name, line)
        return now + 1, None, 1, lambda count: reader.set_integer(running.frame, name, count - counted_before)

    def _count_out(self, running: _Running) -> bool:
        """Gives a counter the value at which the loop's own condition, or a `break`, ends it."""
        tests = [(branch.test, branch.line) for branch in running.loop.branches if branch.leaves]
        if running.loop.test is not None:
            tests.append((ast.UnaryOp(op=ast.Not(), operand=running.loop.test), running.loop.line))
        for test, line in tests:
            for name, now in self._counters(running):
                if name not in set(names_in(test)) or name == running.loop.counter:
                    continue
                try:
                    move = self._mover(running, name, now, line)
                    count = Condition(test, name, self._lookup(running.frame)).first(now) if move else None
                except NotUnderstood:
                    continue
                if move is not None and count is not None and count > now:
                    move[3](count)
                    return True
        return False


def _to_last_round(running: _Running) -> bool:
    """Whether the loop is in its last round, or will be next."""
    values = running.range
    if values is None:
        return False
    if frame_reader.left_in(values) > 1:
        frame_reader.skip(values, frame_reader.left_in(values) - 1)
    return True


def _skip_to(values: Any, count: int) -> None:
    rounds = (count - frame_reader.next_value(values)) // frame_reader.step_of(values)
    frame_reader.skip(values, min(rounds, frame_reader.left_in(values) - 1))


def _go_on_with(counted: Any, count: int) -> None:
    frame_reader.set_index(counted, count)


def _increments_before(running: _Running, name: str, line: int) -> int:
    """How often the counter goes up between now and the next time that line is reached: once or not at all."""
    now = running.frame.f_lineno
    counted = running.loop.stepped.get(name, now)

    def distance(to: int) -> int:
        span = running.loop.end_line - running.loop.line + 1
        return (to - now - 1) % span

    return int(distance(counted) < distance(line))
