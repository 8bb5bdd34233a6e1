"""Studies: each decides which runs answer a question, one after another. What the runs mean is decided in `analysis`.

| module | question | runs |
|---|---|---|
| `capacity.py` | does the job fit, and what does it use without a limit | 1 to 3 |
| `minimum.py` | the smallest capacity at which it still completes | up to 8 more |
| `ranges.py` | how far guesses, assumed values and kernel timing move the requirement | up to 6 more |
| `runner.py` | carries runs out, into a recording | |
"""

from veritasest.studies.capacity import study_capacity
from veritasest.studies.minimum import study_minimum
from veritasest.studies.ranges import study_ranges
from veritasest.studies.runner import Runner

__all__ = ["Runner", "study_capacity", "study_minimum", "study_ranges"]
