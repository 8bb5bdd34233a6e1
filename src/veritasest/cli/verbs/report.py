"""Report a saved recording again, in any format, without PyTorch.

  veritasest report DIR
  veritasest report DIR --json -

DIR is a recording made by `veritasest run --save DIR ...`, here or on another machine. Nothing is run.

exit codes: as for `veritasest run`; 4 if DIR is not a recording
"""

from __future__ import annotations

from collections.abc import Sequence

from veritasest import api
from veritasest.cli.outputs import add_outputs, check_outputs, write_outputs
from veritasest.cli.parser import Parser
from veritasest.report import EXIT_CODES

EXAMPLE = "report DIR"


def main(argv: Sequence[str]) -> int:
    parser = Parser("report", __doc__)
    parser.add_argument("recording", metavar="DIR", help="a recording")
    add_outputs(parser)
    chosen = parser.parse_args(argv)
    check_outputs(chosen)
    recording = api.open_recording(chosen.recording)
    result = api.estimate_of(recording)
    write_outputs(chosen, result, recording)
    return EXIT_CODES[result.verdict]
