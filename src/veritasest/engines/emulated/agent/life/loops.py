"""What the source says of the loops that a frame is in: their branches, and what comes after them.

Pure functions of a syntax tree and a line. Only branches whose condition changes while the loop runs are of interest:
`if args.distributed` is as true in the last step as in the first, `if step % 500 == 0` is not.
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# What these do takes no memory on the GPU, so a branch with nothing else in it is not missed.
_HARMLESS = {"print", "log", "info", "debug", "warning", "warn", "write", "format", "update", "set_postfix"} | {
    "set_description", "append", "flush", "time", "perf_counter", "exit", "add_scalar", "join", "round", "len", "item",
}  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)

LoopNode = ast.For | ast.AsyncFor | ast.While


@dataclass(frozen=True, kw_only=True)
class Branch:
    """`leaves`: the branch ends the loop (`break`, `return`) instead of doing something of interest."""

    line: int
    test: ast.expr
    leaves: bool

    @property
    def text(self) -> str:
        return f"if {ast.unparse(self.test)}"


@dataclass(frozen=True, kw_only=True)
class Loop:
    """`counter`: the variable that counts its rounds in a `for` loop, if there is one. `varying`: all names, also
    dotted ones, that are assigned in the body. `stepped`: those that the body counts up by one (`step += 1`), with the
    line where it does."""

    line: int
    end_line: int
    test: ast.expr | None
    counter: str | None
    varying: frozenset[str]
    stepped: Mapping[str, int]
    branches: tuple[Branch, ...]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a frame is: the loops around it, outermost first, and the first statement of interest that comes after
    them (after the current statement, where there is no loop)."""

    loops: tuple[Loop, ...]
    after: tuple[int, str] | None


def place_of(filename: str, function: str, first_line: int, line: int) -> Place | None:
    """None where the source is not there, or does not have that line."""
    tree = _tree(filename)
    body = _function_body(tree, function, first_line, line) if tree else None
    return _place(filename, tuple(body), line) if body else None


@functools.lru_cache(maxsize=64)
def _tree(filename: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return None


def _function_body(tree: ast.Module, name: str, first_line: int, line: int) -> Sequence[ast.stmt] | None:
    if name == "<module>":
        return tree.body
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == first_line and node.lineno <= line <= (node.end_lineno or line):
                return node.body
    return None


@functools.lru_cache(maxsize=256)
def _place(_filename: str, body: tuple[ast.stmt, ...], line: int) -> Place:
    path = list(_path(body, line))
    loops = [node for node in path if isinstance(node, LoopNode)]
    return Place(loops=tuple(map(_loop, loops)), after=_after(body, path, loops[0] if loops else None, line))


def _path(body: Sequence[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """The statements around the line, outermost first."""
    for statement in body:
        if statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            yield statement
            for block in _blocks(statement):
                yield from _path(block, line)
            return


def _blocks(statement: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    if isinstance(statement, _FUNCTIONS):
        return
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for handler in getattr(statement, "handlers", []):
        yield handler.body
    for case in getattr(statement, "cases", []):
        yield case.body


def _loop(node: LoopNode) -> Loop:
    varying = frozenset(_assigned(node))
    return Loop(
        line=node.lineno,
        end_line=node.end_lineno or node.lineno,
        test=node.test if isinstance(node, ast.While) else None,
        counter=_counter(node),
        varying=varying,
        stepped=dict(_counted_up(node)),
        branches=tuple(_branches(node, varying)),
    )


def _counter(node: LoopNode) -> str | None:
    if isinstance(node, ast.While):
        return None
    target = node.target.elts[0] if isinstance(node.target, ast.Tuple) and node.target.elts else node.target
    return target.id if isinstance(target, ast.Name) else None


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """Everything in the node but the bodies of functions defined there."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _FUNCTIONS):
            yield from _inside(child)


def _assigned(node: LoopNode) -> Iterator[str]:
    for child in _inside(node):
        if isinstance(child, ast.Name | ast.Attribute) and isinstance(child.ctx, ast.Store):
            yield ast.unparse(child)
        elif isinstance(child, ast.NamedExpr):
            yield child.target.id


def _counted_up(node: LoopNode) -> Iterator[tuple[str, int]]:
    """`n += 1` or `n = n + 1`."""
    for child in _inside(node):
        if isinstance(child, ast.AugAssign) and isinstance(child.op, ast.Add) and _is_one(child.value):
            yield ast.unparse(child.target), child.lineno
        elif isinstance(child, ast.Assign) and isinstance(child.value, ast.BinOp):
            name, total = ast.unparse(child.targets[0]), child.value
            if isinstance(total.op, ast.Add) and ast.unparse(total.left) == name and _is_one(total.right):
                yield name, child.lineno


def _is_one(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value == 1


def _branches(node: LoopNode, varying: frozenset[str]) -> Iterator[Branch]:
    for child in _inside(node):
        if not isinstance(child, ast.If) or not varying & set(names_in(child.test)):
            continue
        leaves = any(isinstance(one, ast.Break | ast.Return) for statement in child.body for one in _all(statement))
        if leaves or any(map(_matters, child.body)):
            yield Branch(line=child.lineno, test=child.test, leaves=leaves and not any(map(_matters, child.body)))


def _all(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, _FUNCTIONS):
        yield from _inside(node)


def names_in(test: ast.expr) -> Iterator[str]:
    """Names and dotted names that the expression reads."""
    for child in ast.walk(test):
        if isinstance(child, ast.Name | ast.Attribute) and isinstance(child.ctx, ast.Load):
            yield ast.unparse(child)


def _matters(statement: ast.stmt) -> bool:
    """Whether the statement may take memory: it calls something that does more than print."""
    if isinstance(statement, (ast.Raise, *_FUNCTIONS)):
        return False
    return any(isinstance(child, ast.Call) and _called(child) not in _HARMLESS for child in _all(statement))


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _after(
    body: Sequence[ast.stmt], path: Sequence[ast.stmt], outermost: ast.stmt | None, line: int
) -> tuple[int, str] | None:
    """The first statement that matters and runs only when the outermost loop, or the current statement, is done."""
    done = outermost or (path[-1] if path else None)
    last_line = (done.end_lineno or line) if done else line
    if isinstance(done, ast.While) and _is_endless(done):
        return None
    around = path[: path.index(done)] if done in path else []
    for block in [*[block for one in reversed(around) for block in _blocks(one)], body]:
        for statement in block:
            if statement.lineno > last_line and _matters(statement) and not _is_main_guard(statement):
                return statement.lineno, ast.unparse(statement).splitlines()[0]
    return None


def _is_endless(loop: ast.While) -> bool:
    """`while True` without a way out."""
    always = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    return always and not any(isinstance(one, ast.Break) for one in _inside(loop))


def _is_main_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in set(names_in(statement.test))
