"""What becomes of values that the emulated device does not compute: the user's choice."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from veritasest.errors import UsageError

_MODE = re.compile(r"auto|off|real(:[\w.]+)?")
_KINDS = "mask=FRACTION (0 to 1), scalar=NUMBER or finite=yes|no"
_YES_NO = {"yes": True, "no": False, True: True, False: False}


@dataclass(frozen=True, kw_only=True)
class ValuePolicy:
    """`mode`: "auto" computes what controls the program's flow and assumes the rest; "real" computes everything,
    "real:MODULE" everything in that submodule; "off" nothing.

    `mask`: the fraction of an unknown mask that is true; None: as a comparison with uniform numbers has it. `scalar`: a
    single unknown number; None: 0.5. `finite`: whether unknown numbers are. `host_bytes`: how much of the host's memory
    real values may take.
    """

    mode: str = "auto"
    mask: float | None = None
    scalar: float | None = None
    finite: bool = True
    host_bytes: int | None = None

    @property
    def is_real(self) -> bool:
        return self.mode.startswith("real")

    @property
    def module(self) -> str:
        """The submodule whose values are real, empty: all, or none."""
        return self.mode.partition(":")[2]


def value_policy(mode: str, assume: Mapping[str, float | str | bool], host_bytes: int | None) -> ValuePolicy:
    """The policy that a user asked for, checked."""
    if not _MODE.fullmatch(mode):
        raise UsageError(f"no such value mode: {mode!r}", "choose auto, real, real:MODULE or off")
    assumed = {kind: _checked(kind, value) for kind, value in assume.items()}
    real = mode.startswith("real")
    if host_bytes is not None and not real:
        raise UsageError(f"a limit on host memory has no effect with values {mode!r}", "add --values real")
    if host_bytes is not None and host_bytes <= 0:
        raise UsageError(f"host memory must be above zero, not {host_bytes}", "leave it out for 80 % of what is free")
    if host_bytes is None and real:
        host_bytes = available_host_bytes() * 8 // 10
    return ValuePolicy(
        mode=mode,
        mask=assumed.get("mask"),
        scalar=assumed.get("scalar"),
        finite=bool(assumed.get("finite", True)),
        host_bytes=host_bytes,
    )


def _checked(kind: str, value: float | str | bool) -> float:
    if kind == "finite":
        if value not in _YES_NO:
            raise UsageError(f"finite must be yes or no, not {value!r}", f"supported assumptions: {_KINDS}")
        return _YES_NO[value]
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{kind}={value} is not a number", f"supported assumptions: {_KINDS}") from None
    if kind not in ("mask", "scalar") or math.isnan(number) or (kind == "mask" and not 0 <= number <= 1):
        raise UsageError(f"cannot assume {kind}={value}", f"supported assumptions: {_KINDS}")
    return number


def available_host_bytes() -> int:
    """What the host could give without swapping."""
    with open("/proc/meminfo", encoding="ascii") as file:
        facts = dict(line.split(":", 1) for line in file)
    return int(facts["MemAvailable"].split()[0]) * 1024
