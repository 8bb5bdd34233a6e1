"""What runs inside the user's process: it records what PyTorch's allocator does, and ends the job when asked to.

Started by `inject/sitecustomize.py` before the user's code. Python imports that by itself; where it does not look for
it (`python -I`), the emulated device runs it (native/core/python.c). The agent imports nothing that the user's code has
not imported: everything waits until the job itself imports torch and touches the GPU. Uses PyTorch's global optimizer
and module hooks, and the allocator's own history.

Whatever of it the job calls is `guard`ed: an error of ours is reported as ours, and the job goes on.

Known limitations: a script that records the allocator's history itself (`torch.cuda.memory._record_memory_history`)
shares it with the agent, and finds it emptied after each optimizer step.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from veritasest.engines.emulated.agent import failures, guard, settings, uploads
from veritasest.engines.emulated.agent.imports import after_import
from veritasest.trace.writer import TraceWriter


def start() -> None:
    """Arms the agent; it wakes up when the job imports torch."""
    given = settings.load()
    trace = TraceWriter(given.trace)
    guard.use(trace)
    failures.watch(trace)
    after_import("torch", partial(_watch, trace, given))
    uploads.install(layer=given.layer)


@guard.guarded("the start of the agent")
def _watch(trace: TraceWriter, given: settings.Settings, torch: Any) -> None:
    from veritasest.engines.emulated.agent.recorder import Recorder

    Recorder(torch=torch, trace=trace, run=given.run()).install()
