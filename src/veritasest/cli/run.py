"""Run a training command on an emulated GPU and report the memory it needs.

  veritasest run --gpu rtx-4090 -- python train.py --batch-size 64
  veritasest run --gpu h200 train.py --batch-size 64       (python implied; also: -m package.module)
  veritasest run --memory 16GiB -- torchrun --nproc-per-node 1 train.py

The whole life of the job is observed: once its peak has settled it runs on as it is, then repeated parts are skipped,
so that the script gets to its own evaluation, saving and end. What could not be reached is named.

What the job writes, renames or deletes is held back in a private layer and discarded; --allow-writes lets it happen.

Options end at the first word that is not one, or at `--`; all that follows is the command, as it would be typed.

exit codes: 0 fits, 3 does not fit, 1 the job failed for a reason of its own, 2 wrong usage, 4 this environment cannot
be estimated, 5 undetermined: too little was seen for a verdict, 130 interrupted
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from veritasest.api import DEFAULT_GPU, estimate
from veritasest.cli.parser import Parser
from veritasest.errors import UnsupportedEnvironment, UsageError
from veritasest.launch.launcher import Progress
from veritasest.report import EXIT_CODES, LiveLine, render, to_json
from veritasest.spec.estimate import SCHEMA_VERSION, Estimate


def main(argv: Sequence[str]) -> int:
    parser = _parser()
    options, command = _split(parser, list(argv))
    chosen = parser.parse_args(options)
    for path in (chosen.json, chosen.trace):
        if path and path != "-":
            _check_output(Path(path), force=chosen.force)
    if chosen.trace and chosen.force:
        Path(chosen.trace).unlink(missing_ok=True)
    try:
        result = _run(chosen, command)
    except UnsupportedEnvironment as error:
        failure = {"kind": "environment", "message": error.message, "hint": error.hint}
        document = {"schema_version": SCHEMA_VERSION, "verdict": "unsupported", "failure": failure}
        _write_json(chosen.json, json.dumps(document, indent=2) + "\n")
        raise
    _write_json(chosen.json, to_json(result))
    _report(result, chosen)
    return EXIT_CODES[result.verdict]


def _run(chosen: argparse.Namespace, command: list[str]) -> Estimate:
    line = LiveLine(sys.stderr)
    if chosen.values.startswith("real") and not chosen.quiet:
        sys.stderr.write(
            "real values: operators also run on the CPU, which takes its time, and their data takes as much of this "
            "host's memory as of the GPU's; the job is ended before it takes more than --host-memory allows\n"
        )

    def show(progress: Progress) -> None:
        line.show(
            step=progress.step,
            used_bytes=progress.used_bytes,
            peak_bytes=progress.peak_bytes,
            elapsed_s=progress.elapsed_s,
            further=_further(progress),
        )

    def notice(text: str) -> None:
        if not chosen.quiet:
            sys.stderr.write(f"veritasest: {text}\n")

    try:
        return estimate(
            command,
            gpu=chosen.gpu or DEFAULT_GPU,
            memory=chosen.memory,
            steps=chosen.steps,
            until_exit=chosen.until_exit,
            timeout_s=chosen.timeout,
            budget_s=chosen.budget,
            minimum=chosen.minimum,
            values=chosen.values,
            assume=dict(chosen.assume),
            host_memory=chosen.host_memory,
            trace=chosen.trace,
            allow_writes=chosen.allow_writes,
            on_notice=notice,
            on_progress=None if chosen.quiet else show,
            # JSON on standard output must stand alone there.
            stdout=sys.stderr.fileno() if chosen.json == "-" else None,
        )
    finally:
        line.clear()


def _further(progress: Progress) -> str:
    """How much of the budget is spent."""
    if progress.settled_at_s is None or progress.budget_s is None:
        return ""
    spent_s = progress.elapsed_s - progress.settled_at_s
    return f"peak settled, looking further ({progress.stage}): {spent_s:.0f} of at most {progress.budget_s:.0f} s"


def _report(result: Estimate, chosen: argparse.Namespace) -> None:
    if chosen.quiet:
        return
    notes = () if chosen.gpu else (f"no --gpu given: estimated for {DEFAULT_GPU}",)
    render(result, Console(stderr=chosen.json == "-", highlight=False), notes=notes)


def _parser() -> Parser:
    parser = Parser("run", __doc__)
    parser.usage = "veritasest run [options] [--] command ..."
    parser.add_argument("--gpu", metavar="NAME", help=f"target GPU, see `veritasest gpus` (default: {DEFAULT_GPU})")
    parser.add_argument("--memory", metavar="SIZE", help="capacity in place of that GPU's own, like 16GiB")
    stop = parser.add_mutually_exclusive_group()
    stop.add_argument("--steps", metavar="N", type=_count, help="end the job after N optimizer steps")
    stop.add_argument("--until-exit", action="store_true", help="let the job run to its own end")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, help="end each run after this time")
    parser.add_argument(
        "--budget",
        metavar="SECONDS",
        type=float,
        help="how long to look further once the peak has settled (default: 14 s, more for jobs that start slowly)",
    )
    parser.add_argument("--minimum", action="store_true", help="also find the smallest capacity (up to 8 more runs)")
    parser.add_argument(
        "--values",
        metavar="CHOICE",
        default="auto",
        help="auto (default): compute values that steer the program, assume what is costly; real: compute all on the "
        "CPU, slow, and as large on this host as on the GPU; real:MODULE: those of one submodule; off: none",
    )
    parser.add_argument(
        "--assume",
        metavar="KIND=VALUE",
        type=_assumption,
        action="append",
        default=[],
        help="what unknown values are taken for: mask=SHARE set (0 to 1), scalar=NUMBER, finite=yes|no; repeatable",
    )
    parser.add_argument(
        "--host-memory", metavar="SIZE", help="what --values real may take of this host (default: 80 %%)"
    )
    parser.add_argument(
        "--allow-writes",
        action="store_true",
        help="let the job write and delete files for real (default: held back in a private layer and discarded)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the estimate as JSON; - for standard output")
    parser.add_argument("--trace", metavar="FILE", help="keep the trace of the run in FILE")
    parser.add_argument("--force", action="store_true", help="overwrite existing output files")
    parser.add_argument("--quiet", action="store_true", help="no report and no live line: the exit code, and --json")
    return parser


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def _assumption(text: str) -> tuple[str, str]:
    kind, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"must be KIND=VALUE, like mask=0.3, not {text!r}")
    return kind, value


def _split(parser: Parser, argv: list[str]) -> tuple[list[str], list[str]]:
    """Our options, and the command. argparse alone would take the job's options for ours."""
    takes_value = {name for action in parser._actions if action.nargs != 0 for name in action.option_strings}
    at = 0
    while at < len(argv):
        word = argv[at]
        if word == "--":
            return argv[:at], argv[at + 1 :]
        if not word.startswith("-") or word in ("-m", "-c"):
            break
        at += 2 if word in takes_value else 1
    return argv[:at], argv[at:]


def _check_output(path: Path, *, force: bool) -> None:
    """Before the run: an estimate nobody can store is time lost."""
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


def _write_json(target: str | None, text: str) -> None:
    if target == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    elif target:
        Path(target).write_text(text, encoding="utf-8")
