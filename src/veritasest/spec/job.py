"""What is estimated: the user's command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class JobSpec:
    """`command` is complete: its first word can be run. `python`: the interpreter it leads to, None where that cannot
    be known beforehand. `folder`: where it runs. `environment` is the user's own; it is never written to a file."""

    command: tuple[str, ...]
    folder: str
    python: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def allocator_conf(self) -> str | None:
        return self.environment.get("PYTORCH_ALLOC_CONF") or self.environment.get("PYTORCH_CUDA_ALLOC_CONF")
