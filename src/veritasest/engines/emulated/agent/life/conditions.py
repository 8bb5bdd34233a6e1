"""Finds the count at which a condition of the job's own becomes true, without running any code of the job.

A condition is understood if it is made of numbers, comparisons, arithmetic, and plain variables and attributes (looked
up in dictionaries, never through properties). Anything else, a call above all, is not understood and left alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from itertools import chain
from types import CodeType
from typing import Any

MAX_TRIES = 100_000

_ALLOWED = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Add, ast.Sub,
    ast.Mult, ast.FloorDiv, ast.Div, ast.Mod, ast.USub, ast.Not, ast.And, ast.Or, ast.Eq, ast.NotEq, ast.Lt, ast.LtE,
    ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.Tuple, ast.List, ast.Set,
)  # fmt: skip
_PLAIN = (bool, int, float, str, type(None), tuple, list, set, frozenset, range)


class NotUnderstood(Exception):
    """The condition holds something whose value is not known without running it."""


class Condition:
    """A condition as a function of one counter, all other values being those of now."""

    def __init__(self, test: ast.expr, counter: str, lookup: Callable[[str], Any]) -> None:
        """`lookup` gives the value of a plain name and raises KeyError where there is none."""
        self._values: dict[str, Any] = {}
        renamer = _Renamer(counter, lookup, self._values)
        renamed = ast.fix_missing_locations(ast.Expression(renamer.visit(_copy(test))))
        for node in ast.walk(renamed):
            if not isinstance(node, _ALLOWED):
                raise NotUnderstood(type(node).__name__)
        if not renamer.found_counter:
            raise NotUnderstood(f"no {counter}")
        self._constants = [node.value for node in ast.walk(renamed) if isinstance(node, ast.Constant)]
        self._code: CodeType = compile(renamed, "<condition>", "eval")

    def holds(self, count: int) -> bool:
        try:
            return bool(eval(self._code, {"__builtins__": {}}, {**self._values, _COUNTER: count}))
        except (ArithmeticError, TypeError, ValueError):
            raise NotUnderstood("raises") from None

    def first(self, start: int, stop: int | None = None, step: int = 1) -> int | None:
        """The first count from `start` on, below `stop`, at which it holds; None within reason.

        Every count is tried for a while; beyond that only those that the numbers of the condition suggest (`step ==
        500_000`, `step % 250_000 == 0`, `step > 600_000`).
        """
        end = sys.maxsize if stop is None else stop
        near = range(start, min(end, start + MAX_TRIES * step), step)
        far = (count for count in self._suggested(start, step) if near.stop <= count < end)
        return next((count for count in chain(near, far) if self.holds(count)), None)

    def _suggested(self, start: int, step: int) -> list[int]:
        """Counts around each number of the condition and its next multiple, in the loop's own steps."""
        numbers = {value for value in (*self._values.values(), *self._constants) if type(value) is int and value > 0}
        around = {
            base + more for value in numbers for base in (value, -(-start // value) * value) for more in (-1, 0, 1)
        }
        return sorted({start + -(-(count - start) // step) * step for count in around if count >= start})


_COUNTER = "counter__"


def _copy(test: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(test), mode="eval").body


class _Renamer(ast.NodeTransformer):
    """Replaces names, dotted names, `len(x)` and `x["key"]` by names whose values are known."""

    def __init__(self, counter: str, lookup: Callable[[str], Any], values: dict[str, Any]) -> None:
        self._counter = counter
        self._lookup = lookup
        self._values = values
        self.found_counter = False

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            if ast.unparse(node) == self._counter:
                self.found_counter = True
                return ast.Name(id=_COUNTER, ctx=ast.Load())
            return self._known(self._value(node))
        return super().visit(node)

    def _known(self, value: Any) -> ast.Name:
        if not isinstance(value, _PLAIN):
            raise NotUnderstood(type(value).__name__)
        name = f"value{len(self._values)}__"
        self._values[name] = value
        return ast.Name(id=name, ctx=ast.Load())

    def _value(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            try:
                return self._lookup(node.id)
            except KeyError:
                raise NotUnderstood(node.id) from None
        if isinstance(node, ast.Attribute):
            return attribute(self._value(node.value), node.attr)
        if isinstance(node, ast.Subscript):
            return _item(self._value(node.value), self._value(node.slice))
        if isinstance(node, ast.Call):
            return self._call(node)
        raise NotUnderstood(type(node).__name__)

    def _call(self, node: ast.Call) -> int:
        """Only the length of what says it cheaply."""
        if isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1:
            value = self._value(node.args[0])
            if isinstance(value, list | tuple | dict | str | range) or type(value).__name__ == "DataLoader":
                try:
                    return len(value)
                except TypeError:
                    pass
        raise NotUnderstood(ast.unparse(node))


def attribute(value: Any, name: str) -> Any:
    """An attribute that is stored, not computed: of the object, its class, or a configuration that is a mapping."""
    own = getattr(value, "__dict__", {})
    if name in own:
        return own[name]
    if isinstance(value, dict) and name in value:
        return value[name]
    for kind in type(value).__mro__:
        if name in vars(kind):
            found = vars(kind)[name]
            if isinstance(found, _PLAIN):
                return found
            break
    raise NotUnderstood(name)


def _item(value: Any, key: Any) -> Any:
    if isinstance(value, Mapping | list | tuple):
        try:
            return value[key]
        except (LookupError, TypeError):
            pass
    raise NotUnderstood(repr(key))
