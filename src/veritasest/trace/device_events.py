"""Records of the device: written by the native part, and by the launcher about processes."""

from __future__ import annotations

from dataclasses import dataclass

from veritasest.trace.base import Event, kind


@kind("segment")
@dataclass(frozen=True, kw_only=True)
class Segment(Event):
    op: str
    device: int
    bytes: int
    address: int
    used_bytes: int


@kind("library")
@dataclass(frozen=True, kw_only=True)
class Library(Event):
    """`bytes` below zero: freed. `libraries_bytes`: what all libraries hold there now, without the CUDA context."""

    library: str
    device: int
    bytes: int
    libraries_bytes: int


@kind("workspace")
@dataclass(frozen=True, kw_only=True)
class Workspace(Event):
    """PyTorch allocates it like a tensor (cublasSetWorkspace)."""

    library: str
    address: int
    bytes: int


@kind("deferred_free")
@dataclass(frozen=True, kw_only=True)
class DeferredFree(Event):
    """Blocks were freed that another stream had used (`record_stream`): when they can be reused depends on the GPU's
    progress."""

    device: int = 0


@kind("refused")
@dataclass(frozen=True, kw_only=True)
class Refused(Event):
    """`owner`: "job", or the library that asked."""

    device: int
    bytes: int
    used_bytes: int
    limit_bytes: int
    owner: str = "job"


@kind("misuse")
@dataclass(frozen=True, kw_only=True)
class Misuse(Event):
    what: str
    address: int = 0


@kind("process_exit")
@dataclass(frozen=True, kw_only=True)
class ProcessExit(Event):
    code: int


@kind("killed")
@dataclass(frozen=True, kw_only=True)
class Killed(Event):
    process: int
    signal: int


@kind("gone")
@dataclass(frozen=True, kw_only=True)
class Gone(Event):
    """`process`: its id; `pid` itself where a program replaced itself by exec(). `by_us`: the launcher ended it."""

    process: int
    by_us: bool = False
