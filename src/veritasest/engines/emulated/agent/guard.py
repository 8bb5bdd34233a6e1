"""Errors of ours end here: none of them may end the job, or change what it does.

Whatever of ours the job calls (a hook, a wrapper around one of its functions, a kernel in place of PyTorch's) is
`guarded`. When it raises, that is written to the trace as an `own_error`, the part is switched off for the rest of the
process, and the job gets what it would have got without us.

Code of the job that ours calls in turn is wrapped in `theirs`: what that raises is the job's own, and passes through.
"""

from __future__ import annotations

import functools
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from veritasest.trace.events import OwnError
    from veritasest.trace.writer import TraceWriter

F = TypeVar("F", bound=Callable[..., Any])

_trace: TraceWriter | None = None
MAX_MESSAGE = 500  # characters


class _Thread(threading.local):
    """`raised`: the id of the last exception that came out of the job's own code. Not the exception itself: it would
    keep the frames and tensors of the job alive."""

    raised = 0


_thread = _Thread()


def use(trace: TraceWriter) -> None:
    """Where errors are written from now on."""
    global _trace
    _trace = trace


def theirs(function: F) -> F:
    """The job's own function, for calls from ours: exceptions from it are not ours."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            _thread.raised = id(error)
            raise

    return call  # type: ignore[return-value]


def reraise(error: BaseException) -> NoReturn:
    """Raises an exception of the job's own that was kept until the job would have met it."""
    _thread.raised = id(error)
    raise error


def guarded(where: str, instead: Callable[..., Any] | None = None) -> Callable[[F], F]:
    """`where`: the name of the part, for the report. `instead`: called with the same arguments when the part fails, and
    from then on; without it the answer is None."""

    def decorate(function: F) -> F:
        off = False

        def without_us(*args: Any, **kwargs: Any) -> Any:
            return None if instead is None else instead(*args, **kwargs)

        @functools.wraps(function, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal off
            if off:
                return without_us(*args, **kwargs)
            _thread.raised = 0  # an exception of before may be gone, and its id taken by one of ours
            try:
                return function(*args, **kwargs)
            except Exception as error:
                if id(error) == _thread.raised:
                    raise
                off = True
                report(where, error)
            return without_us(*args, **kwargs)  # the error and all that its frames held is gone by now

        return call  # type: ignore[return-value]

    return decorate


def report(where: str, error: BaseException) -> None:
    """Writes down an error of ours. Never raises."""
    try:
        message = f"veritasest: internal error in {where}, the job continues: {error!r}\n"
        sys.stderr.write(message[:MAX_MESSAGE])
        if _trace is not None:
            _trace.write(describe(where, error))
    except Exception:  # there is no other way to report it
        return


def describe(where: str, error: BaseException) -> OwnError:
    """The line is the innermost one of ours."""
    from veritasest.trace.events import OwnError

    package = __name__.partition(".")[0]
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] == package and frame.f_globals is not globals()
    ]
    file, line = frames[-1] if frames else (None, None)
    return OwnError(where=where, type=type_name(type(error)), message=str(error)[:MAX_MESSAGE], file=file, line=line)


def type_name(kind: type[BaseException]) -> str:
    """As Python prints it: without the module if that is `builtins`."""
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
