"""The parts of the agent that need no torch. tests/integration covers the rest."""

from __future__ import annotations

import importlib
import linecache
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from veritasest.engines.emulated.agent import frames, roles


def test_the_code_of_the_user_is_distinguished_from_libraries(tmp_path: Path) -> None:
    assert frames.is_users(str(tmp_path / "train.py"))
    assert not frames.is_users(importlib.__file__ or "")
    assert not frames.is_users(pytest.__file__ or "")
    assert not frames.is_users(frames.__file__)
    assert not frames.is_users("<string>")


def test_the_place_of_an_exception_is_the_innermost_line_of_the_users_code() -> None:
    try:
        importlib.import_module("no_such_module_anywhere")
    except ModuleNotFoundError as error:
        place = frames.of_traceback(error.__traceback__)
    assert place.file == __file__
    assert place.code == 'importlib.import_module("no_such_module_anywhere")'


def test_an_exception_is_ours_only_where_our_code_raised_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = frames.__file__.replace("frames", "made_up")
    lines = ["def passes(original):\n", "    return original()\n", "def raises():\n", "    return [][1]\n"]
    monkeypatch.setitem(linecache.cache, ours, (1, None, lines, ours))
    made: dict[str, Any] = {}
    exec(compile("".join(lines), ours, "exec"), made)

    def place(call: Callable[[], Any]) -> tuple[str, int] | None:
        with pytest.raises((IndexError, TypeError)) as caught:
            call()
        return frames.raised_by_us(caught.value.__traceback__)

    assert place(made["raises"]) == (ours, 4)
    assert place(lambda: made["passes"](lambda: [][1])) is None  # the job's own code, called by ours
    assert place(lambda: made["passes"](range)) is None  # C code of PyTorch's, in place of which ours was called
    assert place(lambda: [][1]) is None


def tensor(address: int, *, on_gpu: bool = True) -> SimpleNamespace:
    return SimpleNamespace(data_ptr=lambda: address, is_cuda=on_gpu, is_sparse=False, grad=None)


def test_roles_are_the_addresses_an_optimizer_works_on() -> None:
    weight, bias, on_host = tensor(1), tensor(2), tensor(3, on_gpu=False)
    weight.grad = tensor(4)
    sharded = SimpleNamespace(_local_tensor=tensor(5), grad=None)
    groups = [{"params": [weight, on_host]}, {"params": [bias, sharded]}]
    state = {"of weight": {"step": 7, "exp_avg": tensor(6)}, "of bias": {"history": [tensor(8), None]}}
    optimizer = SimpleNamespace(param_groups=groups, state=state)
    assert roles.before_step(optimizer) == {"parameters": [1, 2, 5], "gradients": [4]}
    assert roles.after_step(optimizer) == {"optimizer state": [6, 8]}
