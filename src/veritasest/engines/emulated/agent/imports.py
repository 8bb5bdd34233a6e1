"""Runs a callback once, right after a module's own code has run, whoever imports it and however.

What is watched is the execution, not the look-up: `importlib.util.find_spec("torch")` asks where torch is, often long
before anybody imports it. All loaders of Python code (source, bytecode, zip) inherit one `exec_module`; while a module
is waited for, that method has ours in front. Finders, specs and loaders of modules stay as they are.

Known limitation: a loader that runs a module's code with an `exec_module` of its own, and does not call the inherited
one, is not seen.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from veritasest.engines.emulated.agent.guard import guarded

Callback = Callable[[ModuleType], None]

_lock = threading.RLock()
_waiting: dict[str, list[Callback]] = {}
_basics: Any = next(base for base in importlib.machinery.SourceFileLoader.__mro__ if "exec_module" in vars(base))
_exec_module = _basics.exec_module


def after_import(name: str, callback: Callback) -> None:
    """Calls `callback(module)` when the code of `name` has run; at once if it already has."""
    with _lock:
        _waiting.setdefault(name, []).append(callback)
        _basics.exec_module = _watched_exec_module
    module = sys.modules.get(name)
    if module is None or type(module) is importlib.util._LazyModule:  # type: ignore[attr-defined]
        return  # a lazy module's code runs when one of its attributes is first asked for, as on the next line
    spec = getattr(module, "__spec__", None)
    if getattr(spec, "_initializing", False):
        _watch_initialization(spec)
    else:
        _executed(module)


def _executed(module: ModuleType) -> None:
    name = getattr(module, "__name__", None)
    if name not in _waiting:
        return
    with _lock:
        callbacks = _waiting.pop(name, [])
        if not _waiting and _basics.exec_module is _watched_exec_module:
            _basics.exec_module = _exec_module
    for callback in callbacks:
        guarded(f"what follows the import of {name}")(callback)(module)


def _watched_exec_module(self: Any, module: ModuleType) -> None:
    _exec_module(self, module)
    _executed(module)


# Python leaves the import system's own frames out of the traceback of a failed import, and knows them by this name.
_watched_exec_module.__code__ = _watched_exec_module.__code__.replace(
    co_filename=_exec_module.__code__.co_filename, co_name="exec_module"
)


def _watch_initialization(spec: Any) -> None:
    """For a module whose code is already running: the import system marks its spec when that has ended."""
    try:
        spec.__class__ = _watched_spec(type(spec))
    except TypeError:  # a spec of somebody's own making, which cannot be marked
        return
    if not spec._initializing:  # ended in the meantime, in another thread
        spec._initializing = False


def _watched_spec(plain: type) -> type:
    class Watched(plain):  # type: ignore[misc]
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "_initializing" and not value:
                self.__class__ = plain
                module = sys.modules.get(self.name)
                if module is not None:  # else its import has failed
                    _executed(module)

    Watched.__name__, Watched.__qualname__, Watched.__module__ = plain.__name__, plain.__qualname__, plain.__module__
    return Watched
