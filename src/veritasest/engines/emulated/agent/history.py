"""The caching allocator's own history, taken out piece by piece.

PyTorch records every allocation and free once asked to (`torch.cuda.memory._record_memory_history`, the source of its
memory snapshots). Emptying it after each piece keeps the cost of a piece proportional to what happened since the last.
"""

from __future__ import annotations

import inspect
from typing import Any

from veritasest.engines.emulated.agent.guard import guarded
from veritasest.spec.enums import AllocatorAction

# By PyTorch's name of the action. A plain dict of plain text: this is asked for every event.
_LETTERS = {action.name.lower(): action.value for action in AllocatorAction}

# A ring, should the job never step: about 200 bytes of host memory per event.
MAX_EVENTS = 1_000_000


class History:
    """Events since the last call of `take`, per device."""

    def __init__(self, torch: Any) -> None:
        self._memory = torch.cuda.memory
        parameters = inspect.signature(self._memory._record_memory_history).parameters
        self._can_clear = "clear_history" in parameters
        self._taken: dict[int, int] = {}
        self._record(clear=False)

    def _record(self, *, clear: bool) -> None:
        options = {"clear_history": True} if clear else {}
        self._memory._record_memory_history("all", context=None, stacks="python", max_entries=MAX_EVENTS, **options)

    @guarded("the allocator's history", lambda _: {})
    def take(self) -> dict[int, dict[str, Any]]:
        """Columns of the new events by device: actions (one letter each), addresses, sizes, and the streams unless all
        are the default stream."""
        traces = self._memory._snapshot()["device_traces"]
        pieces = {}
        for device, events in enumerate(traces):
            fresh = events[self._taken.get(device, 0) :]
            if fresh:
                pieces[device] = _columns(fresh)
            if not self._can_clear:
                self._taken[device] = len(events)
        if self._can_clear:
            self._record(clear=True)
        return pieces


def _columns(events: list[dict[str, Any]]) -> dict[str, Any]:
    streams = [event.get("stream", 0) for event in events]
    return {
        **({"streams": tuple(streams)} if any(streams) else {}),
        "actions": "".join([_LETTERS.get(event["action"], "?") for event in events]),
        "addresses": tuple([event.get("addr", 0) for event in events]),
        "sizes": tuple([event["size"] for event in events]),
    }
