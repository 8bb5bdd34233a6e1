"""One module per output."""

from veritasest.report.exit_codes import EXIT_CODES
from veritasest.report.json import to_json
from veritasest.report.live import LiveLine
from veritasest.report.terminal import render

__all__ = ["EXIT_CODES", "LiveLine", "render", "to_json"]
