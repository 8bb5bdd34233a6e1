"""Puts the parts together, as the launcher asked."""

from __future__ import annotations

import os
from typing import Any

from veritasest.engines.emulated.agent.guard import guarded
from veritasest.engines.emulated.agent.imports import after_import
from veritasest.engines.emulated.steering.compute import Computer
from veritasest.engines.emulated.steering.contents import Contents, Device, RealContents
from veritasest.engines.emulated.steering.engine import Engine
from veritasest.engines.emulated.steering.modules import Modules
from veritasest.engines.emulated.steering.policy import Assumptions, Policy
from veritasest.engines.emulated.steering.reads import Reads
from veritasest.spec.enums import Choices
from veritasest.spec.values import ValuePolicy
from veritasest.trace.events import HostMemory, Unmodelled
from veritasest.trace.writer import TraceWriter

# What we need of PyTorch beyond its public interface.
_NEEDED = ("_add_cached_tensor", "_construct_storage_from_data_pointer", "_current_graph_task_id")

HOST_MEMORY_EXIT = 75  # EX_TEMPFAIL: would work with more memory


def can_watch(torch: Any) -> bool:
    return hasattr(torch.library, "get_kernel") and all(hasattr(torch._C, name) for name in _NEEDED)


class Values:
    """From the job's first use of the GPU to the end of the process. `mode`: "auto", "real" or "real:MODULE"."""

    def __init__(self, *, torch: Any, trace: TraceWriter, policy: ValuePolicy, choices: Choices | None) -> None:
        mode = policy.mode
        self._trace = trace
        self._everywhere = mode == "real"
        self._modules: Modules | None = None
        self._uncomputed: set[str] = set()
        self._reads = Reads(trace)
        device = Device()
        host_limit = policy.host_bytes or 0
        if mode != "auto" and host_limit:
            device.limit(host_limit)
        contents = (RealContents if self._everywhere else Contents)(torch, device, self._refused, host_limit)
        assumptions = Assumptions.chosen(policy).at_bound(choices)
        answers = self._policy = Policy(torch, assumptions)
        module = mode.partition(":")[2]
        self._strict = mode != "auto"
        self._host_limit = host_limit
        if self._strict:
            from veritasest.engines.emulated.steering.translations import generator

            answers.generator = generator()  # the one that translated operators draw from
        engine = Engine(
            torch=torch,
            contents=contents,
            device=device,
            policy=answers,
            reads=self._reads,
            computer=Computer(torch, contents, answers, self._failed),
            everywhere=self._everywhere,
            modules=bool(module),
        )
        engine.install()
        device.watch_moves(guarded("the values of collectives")(contents.moved))
        self._device = device
        again = guarded("the values of torchvision's operators")(lambda _: engine.install())
        after_import("torchvision.extension", again)
        if module:
            self._modules = Modules(module, engine.in_module)
            self._modules.watch()

    def _failed(self, name: str, error: Exception) -> None:
        """An operator that the CPU could not compute. Where all values were asked for, that is news."""
        if self._strict and name not in self._uncomputed:
            self._uncomputed.add(name)
            message = (str(error).splitlines() or [type(error).__name__])[0][:200]
            self._trace.write(Unmodelled(library="values", name=f"{name}: {message}", how="not computed"))

    def _refused(self, size: int) -> None:
        """More contents than the host may hold. Real values would no longer be real: the job ends here."""
        if self._strict:
            self._trace.write(HostMemory(bytes=size, limit_bytes=self._host_limit))
            os._exit(HOST_MEMORY_EXIT)

    @guarded("values")
    def on_step(self) -> None:
        self._policy.on_step()

    @guarded("the list of assumed values")
    def finish(self) -> None:
        self._device.stop()
        self._reads.finish()
        if self._modules is not None and not self._modules.found:
            name = f"no module named {self._modules.name!r} was run"
            self._trace.write(Unmodelled(library="values", name=name, how="not computed"))
