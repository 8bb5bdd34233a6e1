"""A module that is awaited: its import is noticed once, whatever is asked about it before."""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import importlib.util
import inspect
import pickle
import pkgutil
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from veritasest.engines.emulated.agent import imports
from veritasest.engines.emulated.agent.imports import after_import

NAMES = ("awaited", "awaited_too", "awaited_package", "awaited_package.inner")
Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a module that can be imported in this test only."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write_module(code: str, name: str = "awaited") -> None:
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(code)
        importlib.invalidate_caches()

    yield write_module
    for name in NAMES:
        sys.modules.pop(name, None)
        imports._waiting.pop(name, None)
    imports._basics.exec_module = imports._exec_module


def test_any_number_of_lookups_before_the_import_change_nothing(write: Write) -> None:
    write("value = 7\n")
    seen: list[ModuleType] = []
    after_import("awaited", seen.append)
    for _ in range(3):
        spec = importlib.util.find_spec("awaited")
        assert spec is not None
        assert type(spec.loader) is importlib.machinery.SourceFileLoader
    assert seen == []
    module = importlib.import_module("awaited")
    assert seen == [module]


def test_the_callback_runs_once_and_the_import_system_is_as_before(write: Write) -> None:
    write("value = 7\n")
    finders, method = list(sys.meta_path), importlib.machinery.SourceFileLoader.exec_module
    seen: list[ModuleType] = []
    after_import("awaited", seen.append)
    assert sys.meta_path == finders
    module = importlib.import_module("awaited")
    importlib.reload(module)
    importlib.import_module("awaited")
    assert seen == [module]
    assert importlib.machinery.SourceFileLoader.exec_module is method
    after_import("awaited", seen.append)  # already there: at once
    assert seen == [module, module]


def test_an_awaited_module_looks_like_any_other(write: Write) -> None:
    write("def function():\n    return 7\n")
    after_import("awaited", lambda _: None)
    after_import("awaited_too", lambda _: None)  # so that our method stays in place
    module = importlib.import_module("awaited")
    spec = module.__spec__
    assert type(spec) is importlib.machinery.ModuleSpec
    assert type(module.__loader__) is importlib.machinery.SourceFileLoader
    assert module.__loader__ is spec.loader
    assert vars(module.__loader__).keys() == {"name", "path"}
    assert pickle.loads(pickle.dumps(module.__loader__)) == module.__loader__
    assert inspect.getsource(module.function) == "def function():\n    return 7\n"


def test_resources_of_an_awaited_package_are_found(write: Write, tmp_path: Path) -> None:
    write("", "awaited_package/__init__")
    (tmp_path / "awaited_package" / "data.txt").write_text("seven")
    after_import("awaited_package", lambda _: None)
    importlib.import_module("awaited_package")
    assert pkgutil.get_data("awaited_package", "data.txt") == b"seven"


def test_an_import_that_failed_is_waited_for_again(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("import os\nif 'AWAITED' not in os.environ: raise ValueError('not yet')\n")
    seen: list[ModuleType] = []
    after_import("awaited", seen.append)
    with pytest.raises(ValueError, match="not yet"):
        importlib.import_module("awaited")
    assert seen == []
    monkeypatch.setenv("AWAITED", "1")
    module = importlib.import_module("awaited")
    assert seen == [module]


def test_a_traceback_shows_no_frames_of_the_agent(write: Write) -> None:
    write("raise ValueError('broken')\n")

    def files() -> list[str]:
        try:
            import awaited  # type: ignore[import-not-found] # noqa: F401
        except ValueError as error:
            return [place.filename for place in traceback.extract_tb(error.__traceback__)]
        return []

    without = files()
    after_import("awaited", lambda _: None)
    assert files() == without
    assert len(without) == 2


def test_several_modules_are_waited_for_and_one_by_several(write: Write) -> None:
    write("import awaited_too\n")
    write("value = 7\n", "awaited_too")
    seen: list[str] = []
    after_import("awaited", lambda module: seen.append(f"first {module.__name__}"))
    after_import("awaited", lambda module: seen.append(f"second {module.__name__}"))
    after_import("awaited_too", lambda module: seen.append(module.__name__))
    importlib.import_module("awaited")
    assert seen == ["awaited_too", "first awaited", "second awaited"]


def test_a_module_that_is_being_imported_is_complete_when_the_callback_runs(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    begin = lambda: after_import("awaited", lambda module: seen.append(module.last))  # noqa: E731
    monkeypatch.setattr(builtins, "begin_waiting", begin, raising=False)
    write("begin_waiting()\nlast = 7\n")
    # As when the agent starts late: nothing was in place when the import began.
    assert importlib.machinery.SourceFileLoader.exec_module is imports._exec_module
    module = importlib.import_module("awaited")
    assert seen == [7]
    assert type(module.__spec__) is importlib.machinery.ModuleSpec
    assert module.__spec__._initializing is False
    importlib.reload(module)  # waits again, and finds the module there
    assert seen == [7, 7]


def test_a_failed_import_that_was_under_way_is_waited_for_again(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[ModuleType] = []
    monkeypatch.setattr(builtins, "begin_waiting", lambda: after_import("awaited", seen.append), raising=False)
    write("begin_waiting()\nraise ValueError('broken')\n")
    with pytest.raises(ValueError, match="broken"):
        importlib.import_module("awaited")
    assert seen == []
    write("value = 12345\n")
    module = importlib.import_module("awaited")
    assert seen == [module]


def test_a_lazy_module_counts_as_imported_when_its_code_runs(write: Write) -> None:
    write("value = 7\n")
    spec = importlib.util.find_spec("awaited")
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["awaited"] = module
    spec.loader.exec_module(module)
    seen: list[ModuleType] = []
    after_import("awaited", seen.append)
    assert seen == []
    assert module.value == 7
    assert seen == [module]


def test_an_error_in_a_callback_does_not_reach_the_import(write: Write) -> None:
    write("value = 7\n")
    seen: list[ModuleType] = []
    after_import("awaited", lambda module: module.no_such_name)
    after_import("awaited", seen.append)
    module = importlib.import_module("awaited")
    assert seen == [module]


def test_imports_in_many_threads_call_back_once(write: Write) -> None:
    write("import time\ntime.sleep(0.05)\nvalue = 7\n")
    seen: list[int] = []
    after_import("awaited", lambda module: seen.append(module.value))
    threads = [threading.Thread(target=importlib.import_module, args=("awaited",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [7]


def test_waiting_while_another_thread_imports_calls_back_once(write: Write) -> None:
    write("import time\ntime.sleep(0.2)\nvalue = 7\n")
    seen: list[int] = []
    thread = threading.Thread(target=importlib.import_module, args=("awaited",))
    thread.start()
    while "awaited" not in sys.modules:
        pass
    after_import("awaited", lambda module: seen.append(module.value))
    thread.join()
    assert seen == [7]
