"""The caching allocator's history, taken piece by piece. A stand-in plays PyTorch's recording."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from veritasest.engines.emulated.agent.history import History


class Memory:
    """`torch.cuda.memory`: keeps events until they are cleared."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def _record_memory_history(self, enabled: str, *, clear_history: bool = False, **_: Any) -> None:
        assert enabled == "all"
        if clear_history:
            self.events.clear()

    def _snapshot(self) -> dict[str, Any]:
        return {"device_traces": [list(self.events), []]}


class OldMemory(Memory):
    """Of a version that cannot clear its history."""

    def _record_memory_history(self, enabled: str, **_: Any) -> None:  # type: ignore[override]
        assert enabled == "all"


def event(action: str, address: int, size: int, **more: int) -> dict[str, Any]:
    return {"action": action, "addr": address, "size": size, **more}


@pytest.mark.parametrize("kind", [Memory, OldMemory])
def test_every_event_is_taken_once(kind: type[Memory]) -> None:
    memory = kind()
    history = History(SimpleNamespace(cuda=SimpleNamespace(memory=memory)))
    memory.events += [event("segment_alloc", 1, 4096), event("alloc", 1, 512), event("new in this version", 1, 1)]
    assert history.take() == {0: {"actions": "sa?", "addresses": (1, 1, 1), "sizes": (4096, 512, 1)}}
    assert history.take() == {}
    memory.events += [event("free_requested", 1, 512), event("free_completed", 1, 512)]
    assert history.take()[0]["actions"] == "rc"


def test_streams_are_kept_unless_all_are_the_default_stream() -> None:
    memory = Memory()
    history = History(SimpleNamespace(cuda=SimpleNamespace(memory=memory)))
    memory.events += [event("alloc", 1, 512, stream=0), event("alloc", 2, 512, stream=7)]
    assert history.take()[0]["streams"] == (0, 7)
    memory.events += [event("alloc", 3, 512, stream=0)]
    assert "streams" not in history.take()[0]
