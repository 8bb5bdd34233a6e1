"""GPUs, PyTorch builds and measured facts."""

from __future__ import annotations

import os
from collections.abc import Iterable

from docs_pages.markdown import item, page, prose, table
from veritasest import gpus
from veritasest.engines.emulated import facts, support
from veritasest.engines.emulated.libraries import installed
from veritasest.units import format_bytes


def gpu_table() -> str:
    os.environ["XDG_CONFIG_HOME"] = os.devnull  # the user's own GPUs are no part of the documentation
    catalogue = gpus.load()
    rows = [
        (
            f"`{gpu.id}`",
            gpu.name,
            gpu.compute_capability,
            gpu.sm_count,
            format_bytes(gpu.total_bytes),
            gpu.evidence["total_bytes"],
            format_bytes(gpu.context_bytes),
            gpu.evidence["context_bytes"],
        )
        for gpu in catalogue
    ]
    headers = ("GPU", "name", "compute", "SMs", "memory", "evidence", "context", "evidence")
    sources = "\n".join(item(f"`{gpu.id}`: {gpu.source}.") for gpu in catalogue)
    return page("GPU catalogue", table(headers, rows), f"## Sources\n\n{sources}")


def pytorch_table() -> str:
    majors = " and ".join(str(major) for major in support.CUDA_MAJORS)
    python = ".".join(str(part) for part in support.OLDEST_PYTHON)
    rows = [(row.torch, row.cuda, capabilities(row.architectures), row.evidence) for row in support.TESTED]
    others = [(major, capabilities(support.architectures("", f"{major}.0"))) for major in support.CUDA_MAJORS]
    return page(
        "PyTorch builds",
        table(("PyTorch", "CUDA", "machine code for compute capabilities", "tested with"), rows),
        prose(
            f"Builds for CUDA {majors} are accepted, in Python {python} or later; one that is not in the table runs "
            "with a warning. It is assumed to have machine code for:"
        ),
        table(("CUDA", "compute capabilities"), others),
        "On a GPU that a build has no machine code for, the estimate warns that the build would refuse to run.",
    )


def capabilities(numbers: Iterable[int]) -> str:
    return ", ".join(f"{number // 10}.{number % 10}" for number in numbers)


def measured_facts() -> str:
    libraries = installed().libraries
    rows = facts.load(libraries)
    versions = [(name, cuda or "all", version) for name, cuda, version in facts.versions(libraries)]
    return page(
        "Measured facts",
        "Sizes and constants of NVIDIA's libraries that were measured rather than documented (`native/facts/`).",
        FACT_KINDS,
        *(f"## {library}\n\n{facts_of(library, rows)}" for library in dict.fromkeys(row.library for row in rows)),
        "## Versions\n\nThe versions that the stand-in libraries report.",
        table(("library", "CUDA", "version"), versions),
    )


def facts_of(library: str, rows: Iterable[facts.Fact]) -> str:
    lines = []
    for row in (row for row in rows if row.library == library):
        value = format_bytes(row.value_bytes) if row.value_bytes else "a formula"
        bounds = f" Elsewhere: {row.elsewhere}." if row.kind == "size" else ""
        text = (
            f"**{row.what}** ({row.kind}): {value}. Measured on: {row.measured_on}.{bounds} Evidence: {row.evidence}."
        )
        lines.append(item(text))
    return "\n".join(lines)


FACT_KINDS = """
| kind | meaning |
|---|---|
| size | allocated through PyTorch. Exact where it was measured; elsewhere a guess between bounds |
| overhead | in addition to reserved memory: CUDA context, handles, machine code |
| placement | where the driver puts memory; the range over addresses covers it |
| everywhere | documented, or not decided by the library: exact on every GPU |
"""
