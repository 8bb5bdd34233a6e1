"""One module per output."""

from veritasest.report.exit_codes import EXIT_CODES
from veritasest.report.live import LiveLine
from veritasest.report.registry import Reporter, reporters

__all__ = ["EXIT_CODES", "LiveLine", "Reporter", "reporters"]
