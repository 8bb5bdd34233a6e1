"""What all kernels share: the parts they work with, where everything is computed, and the state of each thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from veritasest.engines.emulated.steering.assumed.policy import AssumptionPolicy
from veritasest.engines.emulated.steering.assumed.reads import AssumedReads
from veritasest.engines.emulated.steering.assumed.values import AssumedValues
from veritasest.engines.emulated.steering.executor import CpuExecutor
from veritasest.engines.emulated.steering.kernels.use_counts import UseCounts
from veritasest.engines.emulated.steering.memory.device import Device
from veritasest.engines.emulated.steering.memory.tracker import ValueTracker
from veritasest.engines.emulated.steering.report import SteeringReport

Kernel = Callable[..., Any]


class ThreadState(threading.local):
    """What a kernel leaves for the kernels that run inside it, in the same thread.

    - `answer`: what a read of one number gives while the kernel of a counting operator runs.
    - `in_whole`: inside an operator that is computed as a whole, so the operators it calls need not be.
    - `in_submodule`: inside the submodule for which the user asked for real values.
    """

    answer: int | None = None
    in_whole = False
    in_submodule = False

    @contextmanager
    def answering(self, count: int, device: Device) -> Iterator[None]:
        """Reads give `count`: those through our own kernel for `.item()`, and those of PyTorch's C++ on the device."""
        self.answer = count
        device.answer_reads(True, count)
        try:
            yield
        finally:
            self.answer = None
            device.answer_reads(False, 0)

    @contextmanager
    def inside(self, *, whole: bool) -> Iterator[None]:
        before = self.in_whole
        self.in_whole = before or whole
        try:
            yield
        finally:
            self.in_whole = before


@dataclass(frozen=True, kw_only=True)
class KernelContext:
    """`everywhere`: all operators are computed, at any cost. `in_submodule`: only inside one submodule."""

    torch: Any
    tracker: ValueTracker
    executor: CpuExecutor
    policy: AssumptionPolicy
    assumed: AssumedValues
    reads: AssumedReads
    report: SteeringReport
    device: Device
    uses: UseCounts
    everywhere: bool = False
    in_submodule: bool = False
    thread: ThreadState = field(default_factory=ThreadState)

    @property
    def may_compute_all(self) -> bool:
        """Whether there is any place where everything is computed."""
        return self.everywhere or self.in_submodule

    @property
    def computes_all_here(self) -> bool:
        """Whether the calling thread is in such a place."""
        return self.everywhere or self.thread.in_submodule
