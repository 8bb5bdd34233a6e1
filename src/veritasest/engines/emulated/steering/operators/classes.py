"""The classes of operators: what is done with an operator's values."""

from __future__ import annotations

from enum import Enum


class OperatorClass(Enum):
    """Every operator has exactly one class. The CUDA kernel runs in every case, since it allocates; the class decides
    only what becomes of the values."""

    MEMORY = "memory"
    """Makes, describes or reinterprets memory. There is nothing to compute, and the operator is not watched."""

    COMPUTE = "compute"
    """Cheap work on data. The CPU computes it wherever all inputs are known and not too large."""

    DECISION = "decision"
    """Turns data into a mask, an index or a count. Computed like COMPUTE; unknown inputs are assumed first, because the
    program is likely to act on the result."""

    GEOMETRY = "geometry"
    """Mathematics of models that also serves geometry: products, distances, norms. Computed like COMPUTE where no input
    is trainable and the work is bounded; otherwise left out like MODEL."""

    MODEL = "model"
    """Layers, losses, gradients and optimizers. Not computed, except where all values are (`--values real`). What it
    returns or writes is unknown."""

    UNCLASSIFIED = "unclassified"
    """In no table: an operator of a PyTorch version that has not been looked at. Treated like MODEL, and reported."""
