"""Everything VeritasEst raises on purpose.

    VeritasEstError                  exit code
    ├── UsageError                   2    the command line or an argument is wrong
    │   └── UnknownGPU               2    no such GPU in the catalogue
    ├── UnsupportedEnvironment       4    this host or this PyTorch cannot be estimated
    ├── TraceError                   4    a trace file cannot be read
    └── Interrupted                  130  the user ended the estimate

Each has a `message` (what happened, with which value) and a `hint` (what to do next).
"""

from __future__ import annotations


class VeritasEstError(Exception):
    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(VeritasEstError):
    exit_code = 2


class UnknownGPU(UsageError):
    pass


class UnsupportedEnvironment(VeritasEstError):
    exit_code = 4


class TraceError(VeritasEstError):
    exit_code = 4


class Interrupted(VeritasEstError):
    exit_code = 130
