"""Where estimates go: one option per reporter, checked before anything is run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from veritasest.errors import UsageError
from veritasest.report import Reporter, reporters

if TYPE_CHECKING:
    from veritasest.cli.parser import Parser
    from veritasest.spec.estimate import Estimate
    from veritasest.trace.recording import Recording

TERMINAL = "terminal"


def add_outputs(parser: Parser) -> None:
    group = parser.add_argument_group("output")
    for reporter in reporters().values():
        if reporter.name != TERMINAL:
            group.add_argument(f"--{reporter.name}", metavar="FILE", help=reporter.help)
    group.add_argument("--force", action="store_true", help="overwrite existing output files")
    group.add_argument("--quiet", action="store_true", help="print nothing; use the exit code and --json")


def check_outputs(chosen: argparse.Namespace) -> None:
    """Before the run: an estimate that cannot be stored would be lost."""
    for _, path in _files(chosen):
        if path != "-":
            _check_output(Path(path), force=chosen.force)


def stdout_is_taken(chosen: argparse.Namespace) -> bool:
    """Whether a report goes to standard output, where nothing else may then appear."""
    return any(path == "-" for _, path in _files(chosen))


def write_outputs(chosen: argparse.Namespace, estimate: Estimate, recording: Recording | None) -> None:
    """The files, and the report for people unless it is not wanted."""
    write_files(chosen, estimate, recording)
    if not chosen.quiet:
        stream = sys.stderr if stdout_is_taken(chosen) else sys.stdout
        reporters()[TERMINAL].write(estimate, recording, stream)


def write_files(chosen: argparse.Namespace, estimate: Estimate, recording: Recording | None) -> None:
    for reporter, path in _files(chosen):
        if path == "-":
            reporter.write(estimate, recording, sys.stdout)
            sys.stdout.flush()
        else:
            with open(path, "w", encoding="utf-8") as file:
                reporter.write(estimate, recording, file)


def _files(chosen: argparse.Namespace) -> Iterator[tuple[Reporter, str]]:
    for reporter in reporters().values():
        path = getattr(chosen, reporter.name, None)
        if path:
            yield reporter, path


def _check_output(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise UsageError(f"{path} is a directory", "name a file in it")
    if path.exists() and not force:
        raise UsageError(f"{path} exists", "give --force to overwrite it, or name another file")
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"cannot write {path}: no folder {folder}", f"create it: mkdir -p {folder}")
    existed = path.exists()
    try:
        path.open("ab").close()  # the only sure test, also for root and for odd file systems
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", "name a file in a writable folder") from error
    if not existed:
        path.unlink()
