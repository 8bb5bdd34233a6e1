"""Run a training command on an emulated GPU and report the memory it needs.

  veritasest run --gpu rtx-4090 -- python train.py --batch-size 64
  veritasest run --gpu h200 train.py --batch-size 64       (python implied; also: -m package.module)
  veritasest run --memory 16GiB -- torchrun --nproc-per-node 1 train.py
  veritasest run --save DIR train.py                       (keep the recording for `veritasest report DIR`)

The whole life of the job is observed: once its peak has settled it runs on unchanged for a while, then repeated parts
are skipped, so that the script reaches its own evaluation, saving and end. What could not be reached is listed.

What the job writes, renames or deletes is held back in a private layer and discarded; --allow-writes lets it happen.

Options end at the first word that is not one, or at `--`; everything after that is the command.

exit codes: 0 fits, 3 does not fit, 1 the job itself failed, 2 wrong usage, 4 not supported, 5 undetermined (not enough
was observed for a verdict), 130 interrupted
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from veritasest import api
from veritasest.cli.options import add_run, add_target, api_options, split_command
from veritasest.cli.outputs import add_outputs, check_outputs, stdout_is_taken, write_files, write_outputs
from veritasest.cli.parser import Parser
from veritasest.errors import TraceError, UnsupportedEnvironment
from veritasest.launch import Progress
from veritasest.report import EXIT_CODES, LiveLine
from veritasest.spec.enums import Stage
from veritasest.trace.recording import Recording

EXAMPLE = "run --gpu rtx-4090 -- python train.py"
_REAL_VALUES = (
    "real values: every operator also runs on the CPU, which is slower and needs as much host memory as the job needs "
    "GPU memory; the job is ended before it exceeds --host-memory\n"
)
_STAGES: Mapping[Stage | None, str] = {
    Stage.AS_IT_IS: "running on unchanged",
    Stage.FORWARD: "skipping repeated parts",
    Stage.LEAVING: "going to the end",
}


def main(argv: Sequence[str]) -> int:
    parser = make_parser()
    options, command = split_command(parser, list(argv))
    chosen = parser.parse_args(options)
    check_outputs(chosen)
    if chosen.save and chosen.force:
        _forget(chosen.save)
    try:
        recording = _record(chosen, command)
    except UnsupportedEnvironment as error:
        write_files(chosen, api.unsupported(error, command, api_options(chosen)), None)
        raise
    result = api.estimate_of(recording)
    write_outputs(chosen, result, recording)
    if api.is_kept(result) or chosen.save:
        if not chosen.quiet:
            print(f"recording kept: {recording.folder}", file=sys.stderr)
    else:
        shutil.rmtree(recording.folder, ignore_errors=True)
    return EXIT_CODES[result.verdict]


def make_parser() -> Parser:
    parser = Parser("run", __doc__)
    parser.usage = "veritasest run [options] [--] command ..."
    add_target(parser)
    add_run(parser)
    add_outputs(parser)
    parser.add_argument("--save", metavar="DIR", help="keep the recording in DIR, a new or empty folder")
    return parser


def _forget(folder: str) -> None:
    """Only what is a recording is deleted."""
    with suppress(TraceError):
        shutil.rmtree(api.open_recording(folder).folder)


def _record(chosen: argparse.Namespace, command: list[str]) -> Recording:
    line = LiveLine(sys.stderr)
    if chosen.values.startswith("real") and not chosen.quiet:
        sys.stderr.write(_REAL_VALUES)

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

    options = api_options(chosen)
    options["save"] = chosen.save
    options["on_notice"] = notice
    options["on_progress"] = None if chosen.quiet else show
    options["stdout"] = sys.stderr.fileno() if stdout_is_taken(chosen) else None
    try:
        return api.record(command, **options)
    finally:
        line.clear()


def _further(progress: Progress) -> str:
    """How much of the budget is spent."""
    if progress.settled_at_s is None or progress.budget_s is None:
        return ""
    spent_s = progress.elapsed_s - progress.settled_at_s
    doing = _STAGES.get(progress.stage, "observing the rest")
    return f"peak settled, {doing}: {spent_s:.0f} of at most {progress.budget_s:.0f} s"
