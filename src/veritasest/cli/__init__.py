"""The command `veritasest`: one module per verb."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence

from veritasest import __version__
from veritasest.cli import doctor, gpus, run
from veritasest.cli.parser import HelpShown
from veritasest.errors import UsageError, VeritasEstError

VERBS: Mapping[str, Callable[[Sequence[str]], int]] = {"run": run.main, "gpus": gpus.main, "doctor": doctor.main}

USAGE = """\
usage: veritasest VERB ...

How much GPU memory does a CUDA training command need? Answered without a GPU.

  veritasest run --gpu rtx-4090 -- python train.py     run a job on an emulated GPU
  veritasest gpus                                      the GPUs that can be emulated
  veritasest doctor                                    is this machine ready?
  veritasest VERB --help                               all options of a verb
  veritasest --version
"""


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
        # `veritasest gpus | head`: the reader has had enough. Python must not try to flush to it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _dispatch(argv: list[str]) -> int:
    if not argv:
        print(USAGE, end="", file=sys.stderr)
        return UsageError.exit_code
    verb, *rest = argv
    if verb in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0
    if verb in ("-V", "--version"):
        print(f"veritasest {__version__}")
        return 0
    if verb not in VERBS:
        raise UsageError(f"unknown verb {verb!r}", f"verbs: {', '.join(VERBS)}; to run a job: veritasest run {verb}")
    return VERBS[verb](rest)
