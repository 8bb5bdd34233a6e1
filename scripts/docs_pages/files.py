"""Traces, recordings and environment variables."""

from __future__ import annotations

import importlib
import inspect

from docs_pages.markdown import item, page, prose, record
from veritasest.spec import enums
from veritasest.spec.gpu import GPU
from veritasest.spec.run import RunSpec
from veritasest.spec.stop import StopRule
from veritasest.spec.values import ValuePolicy
from veritasest.spec.variables import VARIABLES, Use
from veritasest.trace import events, recording


def trace_format() -> str:
    words = [kind for _, kind in inspect.getmembers(enums, inspect.isclass) if issubclass(kind, enums.Word)]
    used = [kind for kind in words if kind is not enums.Word]
    return page(
        "Trace and recording format",
        "## Recording",
        prose(recording.__doc__ or ""),
        f"Schema {recording.SCHEMA}. `manifest.json` holds:",
        record(recording.Manifest, "manifest.json"),
        record(recording.RunEntry, "An entry of `runs`"),
        "### run.json\n\nThe section `native`, which the stand-in libraries read, and the section `run`:",
        *(record(kind) for kind in (RunSpec, StopRule, ValuePolicy, GPU)),
        f"## Trace\n\nSchema {events.SCHEMA}. {prose(importlib.import_module('veritasest.trace').__doc__ or '')}",
        prose(events.__doc__ or "").split("\n\n", 1)[1],
        "Fields that have their default value are not written.",
        record(events.Header, "`header`"),
        *(record(kind, f"`{name}`") for name, kind in events.KINDS.items()),
        "## Words with a fixed set of values",
        "\n".join(item(f"`{kind.__name__}`: {', '.join(f'`{word.value}`' for word in kind)}") for kind in used),
    )


def environment_variables() -> str:
    def listed(use: Use) -> str:
        found = [variable for variable in VARIABLES if variable.use is use]
        return "\n".join(item(f"`{each.name}`: {each.meaning} (`{each.where}`).") for each in found)

    return page(
        "Environment variables",
        "None of them has to be set: the settings of an estimate are options of the [command line](command-line.md).",
        *(f"## {use.value}\n\n{listed(use)}" for use in Use),
    )
