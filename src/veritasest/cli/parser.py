"""argparse, with errors as exceptions: a verb returns its exit code and never leaves the process itself."""

from __future__ import annotations

import argparse
from typing import NoReturn

from veritasest.errors import UsageError


class HelpShown(Exception):
    """--help was answered; nothing is left to do."""


class Parser(argparse.ArgumentParser):
    def __init__(self, verb: str, help_text: str | None) -> None:
        super().__init__(
            prog=f"veritasest {verb}",
            description=help_text,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"see: {self.prog} --help")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:  # noqa: ARG002 (argparse calls it so)
        raise HelpShown
