"""What is known of the values in device memory."""

from __future__ import annotations

from enum import IntEnum


class ValueState(IntEnum):
    """Ordered: a result is no better known than its least known input, which is the maximum of their states."""

    REAL = 0
    """The values that the GPU would have: they follow from what the host sent."""

    ASSUMED = 1
    """Stated assumptions, or values that follow from them."""

    UNKNOWN = 2
    """Not computed. The memory holds zeros or something old."""


REAL, ASSUMED, UNKNOWN = ValueState
