"""A simulation of PyTorch's caching allocator, and what it is asked for.

| file | what it does |
|---|---|
| `caching.py` | the allocator's rules: pools, best fit, splitting, merging |
| `history.py` | a recorded history as requests; whether the simulation reproduces it |
| `layouts.py` | where a driver may put segments |
| `spread.py` | how far the reserved peak moves with that |
"""

from veritasest.analysis.allocator.spread import address_range

__all__ = ["address_range"]
