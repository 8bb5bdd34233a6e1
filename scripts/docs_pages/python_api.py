"""The Python API, from its signatures, comments and dataclasses."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap

import veritasest
from docs_pages.markdown import WIDTH, code, item, page, prose, record
from veritasest import api, errors
from veritasest.spec import estimate


def options() -> str:
    """The keys of api.Options, with the comments beside them."""
    source = inspect.getsource(api.Options)
    found = re.findall(r"^    (\w+): (.+?)  # (.+)$", source, flags=re.MULTILINE)
    if len(found) != len(api.Options.__annotations__):
        raise SystemExit("every key of api.Options needs a comment on its line")
    return "\n".join(item(f"`{name}`: `{kind}`. {text[0].upper()}{text[1:]}.") for name, kind, text in found)


def function(name: str) -> str:
    found = getattr(api, name)
    call = str(inspect.signature(found)).replace("'", "").replace("Unpack[Options]", "Options")
    return f"### veritasest.{name}\n\n```python\n{name}{call}\n```\n\n{prose(found.__doc__ or '')}".rstrip()


def python_api() -> str:
    exported = [name for name in veritasest.__all__ if not name.startswith("_")]
    functions = [name for name in exported if veritasest._HOMES[name] == api.__name__]
    types = [kind for _, kind in inspect.getmembers(estimate, dataclasses.is_dataclass)]
    types.sort(key=lambda kind: (kind is not estimate.Estimate, inspect.getsourcelines(kind)[1]))
    return page(
        "Python API",
        textwrap.fill(f"Exported by `veritasest`: {', '.join(f'`{name}`' for name in exported)}.", WIDTH),
        "## Functions",
        *(function(name) for name in functions),
        f"## Options of `estimate`\n\nAll of them are keyword arguments, and all may be left out.\n\n{options()}",
        f"## Errors\n\n{code(inspect.cleandoc(errors.__doc__ or '').partition(chr(10))[2].strip(chr(10)))}",
        "## Types\n\nFrozen dataclasses. The [JSON document](json.md) has the same fields.",
        *(record(kind) for kind in types),
    )
