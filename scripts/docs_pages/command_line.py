"""The command line, from the parsers."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import io
from collections.abc import Iterator
from typing import Any

from docs_pages.markdown import code, item, page, table
from veritasest import cli, errors
from veritasest.cli import verbs
from veritasest.cli.parser import HelpShown, Parser
from veritasest.report import EXIT_CODES


def parser_of(verb: str) -> Parser:
    """The parser that the verb itself makes when it is asked for help."""
    made: list[Parser] = []
    original = Parser.__init__

    def remember(self: Parser, *arguments: Any) -> None:
        original(self, *arguments)
        made.append(self)

    Parser.__init__ = remember  # type: ignore[method-assign]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(HelpShown):
            importlib.import_module(f"{verbs.__name__}.{verb}").main(["--help"])
    finally:
        Parser.__init__ = original  # type: ignore[method-assign]
    return made[0]


def option(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    value = f" {action.metavar}" if action.option_strings and action.metavar else ""
    return item(f"`{names}{value}`: {(action.help or '').replace('%%', '%')}")


def verb_parts(verb: str) -> Iterator[str]:
    parser = parser_of(verb)
    summary, _, rest = inspect.cleandoc(parser.description or "").partition("\n")
    yield f"## veritasest {verb}\n\n{summary}"
    if rest.strip():
        yield code(rest.strip("\n"))
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if action.dest != "help"]
        if actions:
            yield f"**{group.title}**\n\n" + "\n".join(option(action) for action in actions)


def command_line() -> str:
    codes = [(code, f"`{verdict}`") for verdict, code in EXIT_CODES.items()]
    codes += [(errors.UsageError.exit_code, "wrong usage, no estimate"), (errors.Interrupted.exit_code, "interrupted")]
    listed = table(("exit code", "verdict of `run` and `report`"), sorted(codes))
    return page(
        "Command line",
        "`veritasest VERB --help` prints the help of a verb, `veritasest --version` the version.",
        *(part for verb in cli.verb_names() for part in verb_parts(verb)),
        f"## Exit codes\n\n{listed}",
    )
