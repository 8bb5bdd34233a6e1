"""The command `veritasest`: one module per verb, in `verbs/`."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from types import ModuleType

from veritasest import __version__
from veritasest.cli import verbs
from veritasest.cli.parser import HelpShown
from veritasest.errors import UsageError, VeritasEstError


def main(argv: Sequence[str] | None = None) -> int:
    try:
        return _dispatch(list(sys.argv[1:] if argv is None else argv))
    except HelpShown:
        return 0
    except VeritasEstError as error:
        print(f"veritasest: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # `veritasest gpus | head`: the reader has closed the pipe. Python must not flush to it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def verb_names() -> list[str]:
    """`run` first: it is what most people came for."""
    names = [module.name for module in pkgutil.iter_modules(verbs.__path__)]
    return sorted(names, key=lambda name: (name != "run", name))


def _dispatch(argv: list[str]) -> int:
    if not argv:
        print(usage(), end="", file=sys.stderr)
        return UsageError.exit_code
    verb, *rest = argv
    if verb in ("-h", "--help", "help"):
        print(usage(), end="")
        return 0
    if verb in ("-V", "--version"):
        print(f"veritasest {__version__}")
        return 0
    names = verb_names()
    if verb not in names:
        raise UsageError(f"unknown verb {verb!r}", f"verbs: {', '.join(names)}; to run a job: veritasest run {verb}")
    code: int = _verb(verb).main(rest)
    return code


def usage() -> str:
    lines = [
        "usage: veritasest VERB ...",
        "",
        "How much GPU memory does a PyTorch training command need? Answered without a GPU.",
        "",
    ]
    for name in verb_names():
        module = _verb(name)
        lines.append(f"  veritasest {module.EXAMPLE:<40} {(module.__doc__ or '').splitlines()[0]}")
    lines.append(f"  veritasest {'VERB --help':<40} All options of a verb.")
    return "\n".join(lines) + "\n"


def _verb(name: str) -> ModuleType:
    return importlib.import_module(f"{verbs.__name__}.{name}")
