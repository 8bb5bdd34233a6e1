"""The variables of a running frame, and the iterators that its `for` loops are going through.

A loop over `range` can be moved on with the iterator's own `__setstate__`, but CPython hands the iterator to nobody:
it is on the frame's value stack. Its place there follows from the bytecode (`dis.stack_effect`), the address of the
stack from the layout of CPython's frames, which is the same from 3.11 to 3.13. `is_supported` tries both on loops of
our own, once; where they fail, nothing is ever read. Memory is read through /proc/self/mem, so that a wrong address is
an error and not a crash, and an iterator is only touched if its type is one of those known here.

Variables are read the same way: `frame.f_locals` makes a copy that keeps every tensor in it alive.

Known limitations: CPython 3.11 to 3.13; loops over other iterators (lists, loaders) are found but cannot be moved on.
"""

from __future__ import annotations

import builtins
import ctypes
import dis
import functools
import gc
import inspect
import os
import struct
import sys
from collections.abc import Iterator
from itertools import islice, pairwise
from types import CodeType, FrameType, GeneratorType
from typing import Any

_FRAME_POINTER = 24  # PyFrameObject.f_frame: after the object's header and f_back
_LOCALS_AND_STACK = 72  # _PyInterpreterFrame.localsplus
_TYPE_POINTER = 8  # PyObject.ob_type

RANGE = type(iter(range(0)))
_SEQUENCES: tuple[type, ...] = (type(iter([])), type(iter(())))
_KNOWN = (RANGE, *_SEQUENCES, enumerate, GeneratorType, zip, islice, map)
_MAX_DEPTH = 4


class FrameReader:
    """Reads the variables and stacks of frames; keeps one descriptor of /proc/self/mem."""

    def __init__(self) -> None:
        self._memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        os.close(self._memory)

    def iterators(self, frame: FrameType) -> list[tuple[int, Any]]:
        """Of each `for` loop around the frame's current instruction, outermost first: its line, and its iterator or
        None where that is of no known type."""
        code = frame.f_code
        stack = self._slots(frame) + 8 * _locals_and_cells(code)
        return [(line, self._object(stack + 8 * slot)) for line, slot in _enclosing(code, frame.f_lasti)]

    def variable(self, frame: FrameType, name: str) -> Any:
        """The value of a name as the frame's code would read it; KeyError where it has none."""
        code = frame.f_code
        if code.co_flags & inspect.CO_OPTIMIZED:
            if name in code.co_varnames:
                return self._local(frame, code.co_varnames.index(name))
            if name in code.co_cellvars or name in code.co_freevars:
                raise KeyError(name)  # shared with another function: not read
        if name in frame.f_globals:
            return frame.f_globals[name]
        return vars(builtins)[name]

    def set_integer(self, frame: FrameType, name: str, value: int) -> None:
        """Gives a variable that holds an integer another one; KeyError where it cannot be set."""
        if type(self.variable(frame, name)) is not int:
            raise KeyError(name)
        code = frame.f_code
        if not code.co_flags & inspect.CO_OPTIMIZED:
            frame.f_globals[name] = value
            return
        slot = self._slots(frame) + 8 * code.co_varnames.index(name)
        before = self._word(slot)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
        ctypes.c_void_p.from_address(slot).value = id(value)
        ctypes.pythonapi.Py_DecRef(ctypes.cast(before, ctypes.py_object))

    def _slots(self, frame: FrameType) -> int:
        return self._word(id(frame) + _FRAME_POINTER) + _LOCALS_AND_STACK

    def _local(self, frame: FrameType, index: int) -> Any:
        name = frame.f_code.co_varnames[index]
        address = self._word(self._slots(frame) + 8 * index)
        if not address or name in frame.f_code.co_cellvars:
            raise KeyError(name)
        return ctypes.cast(address, ctypes.py_object).value

    def _word(self, address: int) -> int:
        word: int = struct.unpack("<Q", os.pread(self._memory, 8, address))[0]
        return word

    def _object(self, slot_address: int) -> Any:
        address = self._word(slot_address)
        if not address or address % 8:
            return None
        kind = self._word(address + _TYPE_POINTER)
        if kind not in {id(known) for known in _KNOWN}:
            return None
        return ctypes.cast(address, ctypes.py_object).value


def ranges_in(iterator: Any, depth: int = 0) -> Iterator[Any]:
    """The range iterators that `iterator` draws from: itself, or through enumerate, zip, tqdm's generator..."""
    if type(iterator) is RANGE:
        yield iterator
    elif depth < _MAX_DEPTH and isinstance(iterator, _KNOWN):
        for inner in gc.get_referents(iterator):
            if isinstance(inner, _KNOWN):
                yield from ranges_in(inner, depth + 1)


def rounds_left(iterator: Any) -> int:
    """How many rounds a loop over a range, a list or a tuple has still to go, also through enumerate; else 0."""
    counted = [iterator, *(gc.get_referents(iterator) if type(iterator) is enumerate else [])]
    return max((left_in(one) for one in counted if type(one) in (RANGE, *_SEQUENCES)), default=0)


def left_in(iterator: Any) -> int:
    """How many values the iterator of a range, list or tuple has still to give."""
    left: int = iterator.__length_hint__()
    return left


def next_value(iterator: Any) -> int:
    """What the range iterator gives next; it must have something left."""
    _, (values,), at = iterator.__reduce__()
    value: int = values[at or 0]
    return value


def step_of(iterator: Any) -> int:
    """By how much the values of the range iterator grow."""
    _, (values,), _ = iterator.__reduce__()
    step: int = values.step
    return step


def skip(iterator: Any, count: int) -> None:
    """Leaves out the next `count` values."""
    _, _, at = iterator.__reduce__()
    iterator.__setstate__((at or 0) + count)


def index_of(counted: Any) -> int:
    """The number that `enumerate` gives next."""
    index: int = counted.__reduce__()[1][1]
    return index


def set_index(counted: Any, index: int) -> bool:
    """Lets `enumerate` go on with another number. Whether that worked: its count is the first field of the object."""
    field = ctypes.c_ssize_t.from_address(id(counted) + object.__basicsize__)
    if field.value != index_of(counted):
        return False
    field.value = index
    return True


def draws_from(iterator: Any, source: Any, depth: int = 0) -> bool:
    """Whether `iterator` hands on what `source` gives."""
    if iterator is source:
        return True
    inner = gc.get_referents(iterator) if depth < _MAX_DEPTH and isinstance(iterator, _KNOWN) else []
    return any(one is source or (isinstance(one, _KNOWN) and draws_from(one, source, depth + 1)) for one in inner)


def _locals_and_cells(code: CodeType) -> int:
    own_cells = sum(name not in code.co_varnames for name in code.co_cellvars)
    return len(code.co_varnames) + own_cells + len(code.co_freevars)


def _enclosing(code: CodeType, at: int) -> list[tuple[int, int]]:
    """Line and stack slot of the iterator of each `for` loop whose body the instruction at offset `at` is in."""
    return [(line, slot) for start, end, line, slot in _for_loops(code) if start < at < end]


@functools.lru_cache(maxsize=256)
def _for_loops(code: CodeType) -> tuple[tuple[int, int, int, int], ...]:
    """Start and end of the body, line, and the slot of the iterator, counted from the bottom of the stack."""
    instructions = list(dis.get_instructions(code))
    depths = _depths(instructions)
    return tuple(
        (one.offset, one.argval, _line_of(one), depths[one.offset] - 1)
        for one in instructions
        if one.opname == "FOR_ITER" and one.offset in depths
    )


def _line_of(instruction: dis.Instruction) -> int:
    positions = getattr(instruction, "positions", None)  # from 3.11 on
    return getattr(positions, "lineno", None) or 0


def _depths(instructions: list[dis.Instruction]) -> dict[int, int]:
    """The depth of the stack before each instruction that is reached without an exception."""
    following = {one.offset: after for one, after in pairwise(instructions)}
    by_offset = {one.offset: one for one in instructions}
    depths: dict[int, int] = {}
    waiting = [(instructions[0].offset, 0)] if instructions else []
    while waiting:
        offset, depth = waiting.pop()
        if offset in depths or offset not in by_offset:
            continue
        depths[offset] = depth
        one = by_offset[offset]
        argument = one.arg if one.opcode >= dis.HAVE_ARGUMENT else None
        jumps = one.opcode in dis.hasjrel or one.opcode in dis.hasjabs
        if jumps:
            waiting.append((one.argval, depth + dis.stack_effect(one.opcode, argument, jump=True)))
        if one.opname not in _LEAVES and offset in following:
            waiting.append((following[offset].offset, depth + dis.stack_effect(one.opcode, argument, jump=False)))
    return depths


_LEAVES = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD"} | {
    "JUMP_BACKWARD_NO_INTERRUPT",
    "JUMP_ABSOLUTE",
}


@functools.cache
def is_supported() -> bool:
    """Whether a function of our own is read, and one of its variables set, as it should be by this interpreter."""
    if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info[:2] <= (3, 13):
        return False
    try:
        reader = FrameReader()
    except OSError:
        return False
    try:
        return _self_test(reader)
    except (OSError, ValueError, KeyError, struct.error):
        return False
    finally:
        reader.close()


def _self_test(reader: FrameReader) -> bool:
    outer, inner = iter(range(5)), enumerate(iter(range(7)))
    captured = 0  # a cell variable, which moves the stack

    def look() -> list[Any]:
        _ = captured
        frame = sys._getframe(1)
        marked = reader.variable(frame, "mark")
        reader.set_integer(frame, "mark", marked + 1_000_000)
        return [*(held for _, held in reader.iterators(frame)), marked]

    def loops(mark: int) -> tuple[list[list[Any]], int]:
        found = []
        for _ in outer:
            with open(os.devnull) as _file:  # what a with statement leaves on the stack is the point
                for _, _ in inner:
                    found.append(look())
                    if len(found) == 2:
                        return found, mark
        return found, mark

    found, mark = loops(1_234_567)
    expected = [[outer, inner, 1_234_567], [outer, inner, 2_234_567]]
    return found == expected and mark == 3_234_567 and set_index(inner, 40) and next(inner) == (40, 2)
