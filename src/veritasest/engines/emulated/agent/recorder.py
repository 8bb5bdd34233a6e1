"""Writes down what happens in the job's process. Whether the estimate is good is decided elsewhere.

The one thing it does besides: once the peak has settled it moves the job on through the rest of its life (`life/`), and
ends it where that takes too long. It ends it with `os._exit`, so that no code of the script runs after that moment: no
`except`, no `finally`, no "training finished".
"""

from __future__ import annotations

import atexit
import importlib
import os
import platform
import sys
import weakref
from functools import wraps
from typing import Any

from veritasest.engines.emulated.agent import frames, roles, unmodelled
from veritasest.engines.emulated.agent.guard import guarded
from veritasest.engines.emulated.agent.history import History
from veritasest.engines.emulated.agent.imports import after_import
from veritasest.engines.emulated.agent.life.course import Course
from veritasest.engines.emulated.agent.life.phases import CAPTURES, CHECKPOINTS, EVALUATIONS, Phases
from veritasest.engines.emulated.agent.life.settling import Settling
from veritasest.spec.enums import EndReason, Phase, Role, Stage
from veritasest.spec.run import RunSpec
from veritasest.trace import events
from veritasest.trace.writer import TraceWriter

BACKWARDS_WITHOUT_STEP = 50  # of a job that has an optimizer, before it counts as one that updates by hand


class Recorder:
    """Hooks into PyTorch's public extension points, from the import of torch to the end of the process."""

    def __init__(self, *, torch: Any, trace: TraceWriter, run: RunSpec) -> None:
        self._torch = torch
        self._run = run
        self._trace = trace
        self._course = Course(run.stop, level=self._level, on_stage=self._on_stage)
        self._batches = self._course.batches
        self._settling = Settling()
        self._phases = Phases()
        self._history: History | None = None
        self._values: Any = None
        self._cuda = False
        self._phase = Phase.FORWARD_BACKWARD
        self._roles: dict[Role, list[int]] = {}
        self._steps = 0
        self._steps_of: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._optimizers = self._backwards = 0
        self._updates_by_hand = True  # until an optimizer steps
        self._active = True

    def install(self) -> None:
        """Called once, when torch has been imported."""
        optimizer = importlib.import_module("torch.optim.optimizer")
        optimizer.register_optimizer_step_pre_hook(self._before_optimizer)
        optimizer.register_optimizer_step_post_hook(self._after_optimizer)
        after_import("torch.utils.data.dataloader", self._batches.install)
        self._watch_backward()
        self._watch_optimizers(optimizer.Optimizer)
        self._phases.install(self._torch)
        self._course.frameworks.install()
        self._torch.cuda._lazy_call(self._on_cuda)
        os.register_at_fork(after_in_child=self._deactivate)
        atexit.register(self._at_exit)

    @guarded("a forked process")
    def _deactivate(self) -> None:
        """In a forked child: what happens there is not the job's step, unless it turns out to use the GPU itself."""
        self._active = self._batches.active = False

    @guarded("watching the GPU")
    def _on_cuda(self) -> None:
        """The job touched the GPU for the first time."""
        torch = self._torch
        self._active = self._batches.active = True
        rank = os.environ.get("RANK")
        self._trace.write(
            events.Process(
                torch=str(torch.__version__),
                cuda=torch.version.cuda,
                cudnn=torch.backends.cudnn.version(),
                python=platform.python_version(),
                rank=int(rank) if rank else None,
            )
        )
        self._cuda = True
        self._unmodelled = unmodelled.watch(self._trace)
        self._watch_values()
        try:
            self._history = History(torch)
            torch._C._cuda_attach_out_of_memory_observer(self._on_oom)
        except RuntimeError:  # the cudaMallocAsync backend has neither; PyTorch's statistics remain
            self._write_guess("torch", "history of this allocator backend")

    @guarded("values that control the program")
    def _watch_values(self) -> None:
        from veritasest.engines.emulated.steering import install, settings

        debug = bool(os.environ.get("VERITASEST_DEBUG"))
        self._values = install.start(self._torch, self._trace, settings.of_run(self._run, debug=debug))

    def _write_guess(self, library: str, name: str) -> None:
        self._trace.write(events.Unmodelled(library=library, name=name, how="guessed"))

    # Phases and steps

    @guarded("the start of an optimizer step")
    def _before_optimizer(self, optimizer: Any, *_: Any) -> None:
        if self._active:
            self._enter(Phase.OPTIMIZER)
            self._write_roles(roles.before_step(optimizer))

    @guarded("the end of an optimizer step")
    def _after_optimizer(self, optimizer: Any, *_: Any) -> None:
        if not self._active:
            return
        self._updates_by_hand = False
        self._enter(Phase.FORWARD_BACKWARD)
        self._write_roles(roles.after_step(optimizer))
        count = self._steps_of[optimizer] = self._steps_of.get(optimizer, 0) + 1
        if count > self._steps:  # several optimizers that step in turn make one step
            self._steps = count
            self._on_step()

    def _enter(self, phase: Phase) -> None:
        self._write_blocks()
        self._phase = phase

    def _write_roles(self, addresses_by_role: dict[Role, list[int]]) -> None:
        for role, addresses in addresses_by_role.items():
            if addresses and addresses != self._roles.get(role):
                self._roles[role] = addresses
                self._trace.write(events.Roles(role=role, addresses=tuple(addresses)))

    def _watch_backward(self) -> None:
        """Counts backward passes: where no optimizer steps, they are the steps."""
        autograd = self._torch.autograd
        original = autograd._engine_run_backward

        @wraps(original)
        def run(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self._after_backward()
            return result

        autograd._engine_run_backward = run

    def _watch_optimizers(self, kind: Any) -> None:
        original = kind.__init__

        @wraps(original)
        def begin(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            self._optimizers += 1
            original(optimizer, *args, **kwargs)

        kind.__init__ = begin

    @guarded("the end of a backward pass")
    def _after_backward(self) -> None:
        if not self._active or not self._cuda:
            return
        self._batches.on_backward()
        self._backwards += 1
        by_hand = not self._optimizers or self._backwards > BACKWARDS_WITHOUT_STEP
        if by_hand and self._updates_by_hand:
            self._steps += 1
            self._on_step()

    def _on_step(self) -> None:
        if self._steps == 1 and self._torch.backends.cudnn.benchmark:
            self._write_guess("cudnn", "which convolution is fastest, under cudnn.benchmark")
        memory = self._memory()
        for device, numbers in memory.items():
            self._trace.write(
                events.Step(
                    step=self._steps,
                    device=device,
                    allocated_peak_bytes=numbers["allocated_peak_bytes"],
                    reserved_peak_bytes=numbers["reserved_peak_bytes"],
                )
            )
        quiet_steps = self._settling.on_step(list(memory.values()))
        if self._values is not None:
            self._values.on_step()
        reason = self._course.on_step(self._steps, quiet_steps)
        if reason is not None:
            self._end_job(reason)

    def _on_stage(self, stage: Stage, step: int, budget_s: float | None) -> None:
        self._trace.write(events.StageBegun(stage=stage, step=step, budget_s=budget_s))

    def _level(self) -> tuple[int, int, int]:
        numbers = list(self._memory().values())
        keys = ("allocated_bytes", "allocated_peak_bytes", "reserved_peak_bytes")
        return tuple(sum(one[key] for one in numbers) for key in keys)  # type: ignore[return-value]

    # Memory

    def _memory(self) -> dict[int, dict[str, int]]:
        """Of the devices on which the job holds or held memory; of the first if of none."""
        if not self._cuda:
            return {}
        cuda = self._torch.cuda
        numbers = {device: _numbers(cuda.memory_stats(device)) for device in range(cuda.device_count())}
        used = {device: known for device, known in numbers.items() if known["reserved_peak_bytes"]}
        return used or {0: numbers[0]}

    @guarded("the allocator's history")
    def _write_blocks(self) -> None:
        if self._history is None:
            return
        for device, columns in self._history.take().items():
            self._trace.write(events.Blocks(device=device, step=self._steps, phase=self._phase, **columns))

    # Failures and the end

    @guarded("an out-of-memory error")
    def _on_oom(self, device: int, requested: int, _total: int, _free: int) -> None:
        place = frames.current()
        self._trace.write(
            events.OutOfMemory(
                device=device, bytes=requested, step=self._steps, file=place.file, line=place.line, code=place.code
            )
        )

    @guarded("the end of the job")
    def _at_exit(self) -> None:
        if self._cuda:
            unmodelled.stop()
        if self._active and (self._cuda or self._steps):
            self._write_end(EndReason.EXIT)

    def _write_end(self, reason: EndReason) -> None:
        self._write_blocks()
        if self._values is not None:
            self._values.finish()
        for record in self._batches.records(ended_by_itself=not reason.by_agent):
            self._trace.write(record)
        self._write_observed()
        for missed in self._course.not_reached() if reason.by_agent else []:
            self._trace.write(events.NotReached(what=missed.what, file=missed.file, line=missed.line))
        for device, memory in (self._memory() or {0: {}}).items():
            self._trace.write(
                events.End(
                    reason=reason,
                    device=device,
                    allocated_peak_bytes=memory.get("allocated_peak_bytes", 0),
                    reserved_peak_bytes=memory.get("reserved_peak_bytes", 0),
                )
            )

    def _write_observed(self) -> None:
        self._trace.write(
            events.Observed(
                steps=self._steps,
                by_hand=self._updates_by_hand,
                evaluation_batches=self._batches.evaluated(),
                **{what: self._phases.counts[what] for what in (EVALUATIONS, CHECKPOINTS, CAPTURES)},
            )
        )

    def _end_job(self, reason: EndReason) -> None:
        self._write_end(reason)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(0)


def _numbers(stats: dict[str, int]) -> dict[str, int]:
    return {
        "allocated_peak_bytes": stats.get("allocated_bytes.all.peak", 0),
        "reserved_peak_bytes": stats.get("reserved_bytes.all.peak", 0),
        "allocated_bytes": stats.get("allocated_bytes.all.current", 0),
    }
