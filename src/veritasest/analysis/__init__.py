"""Pure functions from a trace to the facts of an estimate."""

from veritasest.analysis.allocator import address_range
from veritasest.analysis.assumed import assumed_values, sizes_are_assumed
from veritasest.analysis.composition import composition
from veritasest.analysis.judgement import Judgement, judge
from veritasest.analysis.life import not_reached, observed, same_course
from veritasest.analysis.minimum import smallest_that_completes
from veritasest.analysis.peaks import libraries_bytes, peak, steps
from veritasest.analysis.processes import DeviceUse, device_uses

__all__ = [
    "DeviceUse",
    "Judgement",
    "address_range",
    "assumed_values",
    "composition",
    "device_uses",
    "judge",
    "libraries_bytes",
    "not_reached",
    "observed",
    "peak",
    "same_course",
    "sizes_are_assumed",
    "smallest_that_completes",
    "steps",
]
