"""What a reader should know about the limits of an estimate."""

from __future__ import annotations

from collections.abc import Iterator

from veritasest.spec.estimate import AssumedValue, Estimate
from veritasest.units import format_bytes

MOST_LINES = 8
_READS = {
    "size": "derived a size from values that were not computed",
    "number": "read a value that was not computed",
    "copy": "copied values that were not computed to the host",
}
_HOW = {
    "bounded": "size estimated, with bounds",
    "bounded above": "size estimated, never too low",
    "guessed": "estimated",
    "refused": "not supported",
    "not computed": "its values could not be computed",
    "unclassified": "unknown operator, its values are assumed",
}


def notes(estimate: Estimate) -> Iterator[str]:
    for missed in estimate.not_reached[:MOST_LINES]:
        yield f"not reached: {missed.file}:{missed.line} > {missed.what}"
    if len(estimate.not_reached) > MOST_LINES:
        yield f"not reached: {len(estimate.not_reached) - MOST_LINES} more places, all in --json"
    yield from estimate.warnings
    yield from _assumptions(estimate)
    for item in estimate.not_modelled:
        where = f", first at {item.file}:{item.line}" if item.file else ""
        yield f"not modelled: {item.library} {item.name} ({_HOW.get(item.how, item.how)}{where})"


def _assumptions(estimate: Estimate) -> Iterator[str]:
    """The lines that read assumed values on which memory may depend; all others are in --json."""
    listed = [value for value in estimate.assumed if value.matters]
    for value in listed[:MOST_LINES]:
        yield _assumption(value)
    if len(listed) > MOST_LINES:
        yield f"{len(listed) - MOST_LINES} more lines read values that were not computed, all in --json"
    if estimate.needs.assumed_range_bytes:
        low, high = (format_bytes(size) for size in estimate.needs.assumed_range_bytes)
        yield f"depending on these values the job needs between {low} and {high}"


def _assumption(value: AssumedValue) -> str:
    where = f"{value.file}:{value.line}" if value.file else "code outside of your script"
    given = "" if value.value is None else f"; assumed {value.value}"
    code = f" ({value.code})" if value.code else ""
    return f"{where} {_READS.get(value.how, value.how)}{given}{code}"
