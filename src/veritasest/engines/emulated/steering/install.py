"""Puts the parts together, from the job's first use of the GPU to the end of the process."""

from __future__ import annotations

import os
from typing import Any

from veritasest.engines.emulated.agent.guard import guarded
from veritasest.engines.emulated.agent.imports import after_import
from veritasest.engines.emulated.steering.assumed.policy import AssumptionPolicy
from veritasest.engines.emulated.steering.assumed.reads import AssumedReads
from veritasest.engines.emulated.steering.assumed.values import AssumedValues
from veritasest.engines.emulated.steering.executor import CpuExecutor
from veritasest.engines.emulated.steering.kernels.context import KernelContext
from veritasest.engines.emulated.steering.kernels.registry import KernelRegistry
from veritasest.engines.emulated.steering.kernels.use_counts import UseCounts
from veritasest.engines.emulated.steering.memory.device import Device
from veritasest.engines.emulated.steering.memory.tracker import RealValueTracker, ValueTracker
from veritasest.engines.emulated.steering.report import SteeringReport
from veritasest.engines.emulated.steering.settings import SteeringSettings
from veritasest.engines.emulated.steering.submodule import SubmoduleWatcher
from veritasest.engines.emulated.torch_names import missing_names
from veritasest.trace.writer import TraceWriter

HOST_MEMORY_EXIT = 75  # EX_TEMPFAIL: would work with more memory


def start(torch: Any, trace: TraceWriter, settings: SteeringSettings) -> ValueSteering | None:
    """Computes and assumes values from now on; None if that is off, or this PyTorch lacks what it takes."""
    if settings.mode == "off":
        return None
    report = SteeringReport(trace)
    missing = missing_names(torch, "steering")
    if missing:
        names = ", ".join(f"torch.{name}" for name in missing)
        report.unsupported(f"values that control the program, with torch {torch.__version__} (no {names})")
        return None
    return ValueSteering(torch=torch, report=report, settings=settings)


class ValueSteering:
    """Owns the parts of a running process, and what happens when one of them fails."""

    def __init__(self, *, torch: Any, report: SteeringReport, settings: SteeringSettings) -> None:
        self._report = report
        self._settings = settings
        self._device = Device()
        self._policy = AssumptionPolicy(torch, settings)
        if settings.wants_real_values:
            from veritasest.engines.emulated.steering.translations import generator

            self._policy.generator = generator()  # the one that translated operators draw from
            if settings.host_bytes:
                self._device.limit(settings.host_bytes)
        context = self._context(torch)
        self._reads = context.reads
        self._registry = KernelRegistry(context)  # kept: PyTorch's kernels come back when it goes
        self._registry.install()
        self._device.watch_moves(guarded("the values of collectives")(context.tracker.moved))
        again = guarded("the values of torchvision's operators")(lambda _: self._registry.install())
        after_import("torchvision.extension", again)
        self._submodule = self._watch_submodule(context)

    def _context(self, torch: Any) -> KernelContext:
        settings = self._settings
        tracker_type = RealValueTracker if settings.computes_all else ValueTracker
        tracker = tracker_type(torch, self._device, self._on_refused, settings.host_bytes)
        executor = CpuExecutor(torch, tracker, self._policy, self._on_failure)
        uses = UseCounts(torch)
        return KernelContext(
            torch=torch,
            tracker=tracker,
            executor=executor,
            policy=self._policy,
            assumed=AssumedValues(torch, tracker, executor, self._policy),
            reads=AssumedReads(self._report, uses.in_backward),
            report=self._report,
            device=self._device,
            uses=uses,
            everywhere=settings.computes_all,
            in_submodule=bool(settings.submodule),
        )

    def _watch_submodule(self, context: KernelContext) -> SubmoduleWatcher | None:
        if not self._settings.submodule:
            return None

        def inside(is_inside: bool) -> None:
            context.thread.in_submodule = is_inside

        watcher = SubmoduleWatcher(self._settings.submodule, inside)
        watcher.watch()
        return watcher

    def _on_failure(self, name: str, error: Exception) -> None:
        """The CPU could not compute an operator. Worth a report only where real values were asked for."""
        if self._settings.debug:
            raise error
        if self._settings.wants_real_values:
            self._report.not_computed(name, error)

    def _on_refused(self, size: int) -> None:
        """More values than the host may hold. Where real ones were asked for, the job ends here."""
        if self._settings.wants_real_values:
            self._report.out_of_host_memory(size, self._settings.host_bytes)
            os._exit(HOST_MEMORY_EXIT)

    @guarded("values")
    def on_step(self) -> None:
        self._policy.on_step()

    @guarded("the list of assumed values")
    def finish(self) -> None:
        self._device.stop()
        self._reads.finish()
        if self._submodule is not None and not self._submodule.found:
            self._report.submodule_not_found(self._submodule.name)
