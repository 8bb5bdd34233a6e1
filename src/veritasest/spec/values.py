"""What becomes of values that the emulated device does not compute: the user's choice, as the agent reads it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from veritasest.errors import UsageError

_MODE = re.compile(r"auto|off|real(:[\w.]+)?")
_KINDS = "mask=SHARE (0 to 1), scalar=NUMBER or finite=yes|no"


@dataclass(frozen=True, kw_only=True)
class Values:
    """`mode`: "auto" computes what steers the program and assumes the rest; "real" computes everything, "real:MODULE"
    everything in that submodule; "off" nothing. `host_bytes`: what real values may take of the host's memory."""

    mode: str = "auto"
    assumed: Mapping[str, str] = field(default_factory=dict)
    host_bytes: int | None = None

    def environment(self) -> dict[str, str]:
        variables = {"VERITASEST_VALUES": self.mode}
        if self.assumed:
            variables["VERITASEST_ASSUME"] = ";".join(f"{kind}={value}" for kind, value in self.assumed.items())
        if self.host_bytes is not None and self.mode.startswith("real"):
            variables["VERITASEST_HOST_MEMORY"] = str(self.host_bytes)
        return variables


def checked_values(mode: str, assume: Mapping[str, float | str | bool], host_bytes: int | None) -> Values:
    if not _MODE.fullmatch(mode):
        raise UsageError(f"no such choice of values: {mode!r}", "auto, real, real:MODULE or off")
    assumed = {kind: _checked(kind, value) for kind, value in assume.items()}
    if host_bytes is not None and not mode.startswith("real"):
        raise UsageError(f"host memory is limited for real values, not for {mode!r}", "add --values real")
    if host_bytes is not None and host_bytes <= 0:
        raise UsageError(f"host memory must be above zero, not {host_bytes}", "leave it out for 80 % of what is free")
    if host_bytes is None and mode.startswith("real"):
        host_bytes = available_host_bytes() * 8 // 10
    return Values(mode=mode, assumed=assumed, host_bytes=host_bytes)


def _checked(kind: str, value: float | str | bool) -> str:
    if kind == "finite":
        text = {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value
        if text not in ("yes", "no"):
            raise UsageError(f"finite must be yes or no, not {value!r}", f"what can be assumed: {_KINDS}")
        return str(text)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{kind}={value} is no number", f"what can be assumed: {_KINDS}") from None
    if kind not in ("mask", "scalar") or math.isnan(number) or (kind == "mask" and not 0 <= number <= 1):
        raise UsageError(f"cannot assume {kind}={value}", f"what can be assumed: {_KINDS}")
    return repr(number)


def available_host_bytes() -> int:
    """What the host could give without swapping."""
    with open("/proc/meminfo", encoding="ascii") as file:
        facts = dict(line.split(":", 1) for line in file)
    return int(facts["MemAvailable"].split()[0]) * 1024
