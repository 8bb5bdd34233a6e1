"""One frozen record for every kind of line in a trace; their fields are defined in the three modules below only.

| kind          | written by   | when |
|---------------|--------------|------|
| header        | launcher     | first line |
| process       | agent        | the process initialised CUDA in PyTorch |
| segment       | native       | device memory was allocated or freed |
| library       | native       | a library's own device memory changed |
| workspace     | native       | a library was given a workspace that it keeps, once per address |
| deferred_free | native       | the caching allocator waits for an event before it reuses a block, once per process |
| refused       | native       | an allocation did not fit; PyTorch may flush its cache and retry |
| unmodelled    | native/agent | the emulation refused something, or guessed a size; once per name |
| assumed       | agent        | the program read a value that was not computed; once per line, and again at the end |
| host_memory   | agent        | real values would exceed the limit on host memory; the job was ended |
| misuse        | native       | memory was freed twice, or was never allocated |
| blocks        | agent        | the caching allocator's history since the last such record |
| roles         | agent        | around an optimizer step: addresses of parameters, gradients and optimizer state |
| step          | agent        | after each optimizer step |
| oom           | agent        | PyTorch raised torch.OutOfMemoryError |
| exception     | agent        | an uncaught exception |
| own_error     | agent/native | an error of VeritasEst in the job's process; that part of the agent is now off |
| batches       | agent        | with the end, once per DataLoader: how its batches varied |
| stage         | agent        | the peak has settled, or a later stage of the default run begins |
| observed      | agent        | with the end: which phases of the job were observed |
| not_reached   | agent        | with the end: code that would have run later |
| files         | launcher     | what the job wrote and deleted in its private file layer |
| end           | agent        | the process is about to end |
| process_exit  | native       | a process that used the device ends by exit() or _exit() |
| killed        | native       | a process of the job sends a signal to one that uses the device |
| gone          | native/launcher | a process that used the device no longer exists |
| exit          | launcher     | last line |

All but the header carry `pid` and `t` (monotonic seconds), which the writer adds.
"""

from __future__ import annotations

from veritasest.trace.base import KINDS, SCHEMA, Event, Header, Trace
from veritasest.trace.device_events import (
    DeferredFree,
    Gone,
    Killed,
    Library,
    Misuse,
    ProcessExit,
    Refused,
    Segment,
    Workspace,
)
from veritasest.trace.job_events import (
    Assumed,
    Batches,
    Blocks,
    End,
    Exit,
    HeldBack,
    HostMemory,
    JobException,
    NotReached,
    Observed,
    OutOfMemory,
    OwnError,
    Process,
    Roles,
    StageBegun,
    Step,
    Unmodelled,
)

__all__ = [
    "KINDS",
    "SCHEMA",
    "Assumed",
    "Batches",
    "Blocks",
    "DeferredFree",
    "End",
    "Event",
    "Exit",
    "Gone",
    "Header",
    "HeldBack",
    "HostMemory",
    "JobException",
    "Killed",
    "Library",
    "Misuse",
    "NotReached",
    "Observed",
    "OutOfMemory",
    "OwnError",
    "Process",
    "ProcessExit",
    "Refused",
    "Roles",
    "Segment",
    "StageBegun",
    "Step",
    "Trace",
    "Unmodelled",
    "Workspace",
]
