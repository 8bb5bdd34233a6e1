"""Options that several verbs share, and what they mean to the Python API."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from veritasest.api import DEFAULT_GPU

if TYPE_CHECKING:
    from veritasest.api import Options
    from veritasest.cli.parser import Parser


def add_target(parser: Parser) -> None:
    group = parser.add_argument_group("target")
    group.add_argument("--gpu", metavar="NAME", help=f"the GPU to estimate for, see `veritasest gpus` ({DEFAULT_GPU})")
    group.add_argument("--memory", metavar="SIZE", help="another capacity for that GPU, like 16GiB")


def add_run(parser: Parser) -> None:
    """How far the job is run, and what is computed."""
    group = parser.add_argument_group("run")
    stop = group.add_mutually_exclusive_group()
    stop.add_argument("--steps", metavar="N", type=_count, help="end the job after N optimizer steps")
    stop.add_argument("--until-exit", action="store_true", help="let the job run to its own end")
    group.add_argument("--timeout", metavar="SECONDS", type=float, help="end each run after this time")
    group.add_argument(
        "--budget",
        metavar="SECONDS",
        type=float,
        help="how long to observe the rest of the job once its peak has settled (default: 14 s, more for slow jobs)",
    )
    group.add_argument("--minimum", action="store_true", help="also find the smallest capacity (up to 8 more runs)")
    group.add_argument(
        "--allow-writes",
        action="store_true",
        help="let the job write and delete files for real (default: held back in a private layer and discarded)",
    )
    add_values(parser)


def add_values(parser: Parser) -> None:
    group = parser.add_argument_group("values")
    group.add_argument(
        "--values",
        metavar="MODE",
        default="auto",
        help="auto (default): compute values that control the program's flow, assume the rest; real: compute all on "
        "the CPU: slower, and needs as much host memory as the job needs GPU memory; real:MODULE: those of one "
        "submodule; off: none",
    )
    group.add_argument(
        "--assume",
        metavar="KIND=VALUE",
        type=_assumption,
        action="append",
        default=[],
        help="assumption for values that are not computed: mask=FRACTION true, scalar=NUMBER, finite=yes|no; may be "
        "repeated",
    )
    group.add_argument(
        "--host-memory", metavar="SIZE", help="limit on host memory for --values real (default: 80 %% of what is free)"
    )


def api_options(chosen: argparse.Namespace) -> Options:
    return {
        "gpu": chosen.gpu,
        "memory": chosen.memory,
        "steps": chosen.steps,
        "until_exit": chosen.until_exit,
        "timeout_s": chosen.timeout,
        "budget_s": chosen.budget,
        "minimum": chosen.minimum,
        "values": chosen.values,
        "assume": dict(chosen.assume),
        "host_memory": chosen.host_memory,
        "allow_writes": chosen.allow_writes,
    }


def split_command(parser: Parser, argv: list[str]) -> tuple[list[str], list[str]]:
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


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def _assumption(text: str) -> tuple[str, str]:
    kind, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"must be KIND=VALUE, like mask=0.3, not {text!r}")
    return kind, value
