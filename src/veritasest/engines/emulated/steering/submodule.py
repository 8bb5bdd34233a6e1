"""Real values inside one submodule of the job's model: `--values real:NAME`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from veritasest.engines.emulated.agent.guard import guarded


class SubmoduleWatcher:
    """Waits for the first model that has a submodule of that name, then marks the submodule's forward passes.

    `name` is a path or the end of one (`roi_heads`, `encoder.layer.3`), or a class (`RegionProposalNetwork`).
    `inside(True)` is called when a forward pass enters the submodule, `inside(False)` when it leaves it.
    """

    def __init__(self, name: str, inside: Callable[[bool], None]) -> None:
        self.name = name
        self._inside = inside
        self._depth = 0
        self._searched: set[int] = set()
        self.found: list[str] = []

    def watch(self) -> None:
        module = importlib.import_module("torch.nn.modules.module")
        self._hook = module.register_module_forward_pre_hook(self._search)

    @guarded("real values in one module")
    def _search(self, model: Any, _args: Any) -> None:
        """The outermost module comes first; the modules in it need not be searched again."""
        if id(model) in self._searched:
            return
        for path, module in model.named_modules():
            self._searched.add(id(module))
            if self._matches(path, module):
                self.found.append(path or type(module).__name__)
                module.register_forward_pre_hook(self._enter)
                module.register_forward_hook(self._leave, always_call=True)
        if self.found:
            self._hook.remove()
        if self._matches("", model):  # its own hooks were gathered before this one ran
            self._enter()

    def _matches(self, path: str, module: Any) -> bool:
        return path == self.name or path.endswith(f".{self.name}") or type(module).__name__ == self.name

    @guarded("real values in one module")
    def _enter(self, *_: Any) -> None:
        self._depth += 1
        self._inside(True)

    @guarded("real values in one module")
    def _leave(self, *_: Any) -> None:
        self._depth -= 1
        self._inside(self._depth > 0)
