"""Counts what a job does besides training: evaluations, checkpoints, graph captures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

from veritasest.engines.emulated.agent.imports import after_import

EVALUATIONS, CHECKPOINTS, CAPTURES = "evaluations", "checkpoints", "captures"


class Phases:
    """Wraps the functions that begin each; their counts are read at the end."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def install(self, torch: Any) -> None:
        self._count(torch.nn.Module, "eval", EVALUATIONS)
        self._count(torch, "save", CHECKPOINTS)
        after_import("safetensors.torch", lambda module: self._count(module, "save_file", CHECKPOINTS))
        after_import("torch.distributed.checkpoint", lambda module: self._count(module, "save", CHECKPOINTS))
        graph = getattr(torch.cuda, "CUDAGraph", None)
        if graph is not None:
            self._count(graph, "capture_begin", CAPTURES)

    def _count(self, owner: Any, name: str, what: str) -> None:
        original: Callable[..., Any] | None = getattr(owner, name, None)
        if original is None:
            return

        @wraps(original)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.counts[what] += 1
            return original(*args, **kwargs)

        setattr(owner, name, counted)
