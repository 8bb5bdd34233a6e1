"""What an estimate was made from."""

from __future__ import annotations

from collections.abc import Iterator

from veritasest.spec.enums import FileMode
from veritasest.spec.estimate import Provenance
from veritasest.spec.gpu import GIVEN_BY_USER
from veritasest.spec.run import RunSpec
from veritasest.trace import HeldBack, Process, Trace
from veritasest.trace.recording import Manifest


def provenance(manifest: Manifest, asked: RunSpec, shown: Trace, first: Trace) -> Provenance:
    processes = shown.of(Process)
    process = processes[0] if processes else None
    return Provenance(
        command=manifest.command,
        options=(*options(asked), *_file_options(first)),
        engine=manifest.engine,
        torch=process.torch if process else None,
        cuda=process.cuda if process else None,
        cudnn=process.cudnn if process else None,
        python=process.python if process else None,
        veritasest=manifest.veritasest,
        allocator_conf=shown.header.allocator_conf,
        host=shown.header.host,
        created=manifest.created,
    )


def options(run: RunSpec) -> Iterator[str]:
    """The words that ask `veritasest run` for this run again."""
    yield from ("--gpu", run.gpu.id)
    if run.gpu.evidence.get("total_bytes") == GIVEN_BY_USER:
        yield from ("--memory", _size(run.gpu.total_bytes))
    stop, values = run.stop, run.values
    if stop.steps is not None:
        yield from ("--steps", str(stop.steps))
    if stop.until_exit:
        yield "--until-exit"
    for name, number in (("--budget", stop.budget_s), ("--timeout", run.timeout_s)):
        if number is not None:
            yield from (name, f"{number:g}")
    if values.mode != "auto":
        yield from ("--values", values.mode)
    for name, number in (("mask", values.mask), ("scalar", values.scalar)):
        if number is not None:
            yield from ("--assume", f"{name}={number:g}")
    if not values.finite:
        yield from ("--assume", "finite=no")


def _file_options(trace: Trace) -> tuple[str, ...]:
    return ("--allow-writes",) if any(held.mode is FileMode.ALLOWED for held in trace.of(HeldBack)) else ()


def _size(total_bytes: int) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if total_bytes % scale == 0:
            return f"{total_bytes // scale}{unit}"
    return str(total_bytes)
