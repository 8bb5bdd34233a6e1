"""VeritasEst: runs a CUDA training command on an emulated GPU and reports how much GPU memory it needs.

    >>> import veritasest
    >>> veritasest.estimate(["python", "train.py"], gpu="a100-40gb").verdict
    <Verdict.FITS: 'fits'>

This module is also imported inside the user's own process, so it loads nothing until a name is asked for.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from veritasest.api import estimate, estimate_recording, open_recording
    from veritasest.errors import Interrupted, TraceError, UnsupportedEnvironment, UsageError, VeritasEstError
    from veritasest.spec.enums import Verdict
    from veritasest.spec.estimate import Estimate

__all__ = [
    "Estimate",
    "Interrupted",
    "TraceError",
    "UnsupportedEnvironment",
    "UsageError",
    "Verdict",
    "VeritasEstError",
    "__version__",
    "estimate",
    "estimate_recording",
    "open_recording",
]

_HOMES = {
    "Estimate": "veritasest.spec.estimate",
    "Verdict": "veritasest.spec.enums",
    "estimate": "veritasest.api",
    "open_recording": "veritasest.api",
    "estimate_recording": "veritasest.api",
    "Interrupted": "veritasest.errors",
    "TraceError": "veritasest.errors",
    "UnsupportedEnvironment": "veritasest.errors",
    "UsageError": "veritasest.errors",
    "VeritasEstError": "veritasest.errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'veritasest' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
