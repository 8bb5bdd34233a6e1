"""Pure functions from a trace to the facts of an estimate."""

from veritasest.analysis.composition import composition
from veritasest.analysis.judgement import Judgement, judge
from veritasest.analysis.minimum import smallest_that_completes
from veritasest.analysis.peaks import peak, steps

__all__ = ["Judgement", "composition", "judge", "peak", "smallest_that_completes", "steps"]
