"""Everything that this package writes to the trace."""

from __future__ import annotations

from veritasest.engines.emulated.agent.frames import Place
from veritasest.trace.events import Assumed, HostMemory, Unmodelled
from veritasest.trace.writer import TraceWriter

MAX_MESSAGE = 200  # characters of an error


class SteeringReport:
    """Each operator is reported once."""

    def __init__(self, trace: TraceWriter) -> None:
        self._trace = trace
        self._reported: set[str] = set()

    def assumed(self, record: Assumed) -> None:
        """A line of the user's code read values that were not computed."""
        self._trace.write(record)

    def unsupported(self, what: str) -> None:
        self._unmodelled("torch", what, "guessed")

    def not_computed(self, operator: str, error: Exception) -> None:
        """Real values were asked for, and the CPU could not compute this operator."""
        if operator not in self._reported:
            self._reported.add(operator)
            message = (str(error).splitlines() or [type(error).__name__])[0][:MAX_MESSAGE]
            self._unmodelled("values", f"{operator}: {message}", "not computed")

    def submodule_not_found(self, name: str) -> None:
        self._unmodelled("values", f"no module named {name!r} was run", "not computed")

    def unclassified(self, operator: str, place: Place) -> None:
        """The job called an operator that is in no class, so its results are unknown."""
        if operator not in self._reported:
            self._reported.add(operator)
            self._unmodelled("values", operator, "unclassified", place)

    def out_of_host_memory(self, size: int, limit: int) -> None:
        self._trace.write(HostMemory(bytes=size, limit_bytes=limit))

    def _unmodelled(self, library: str, name: str, how: str, place: Place | None = None) -> None:
        place = place or Place()
        self._trace.write(Unmodelled(library=library, name=name, how=how, file=place.file, line=place.line))
