"""A recording: a folder that holds every run of one estimate, and a manifest that lists them.

    DIR/manifest.json                    what was asked for, and the runs in order
    DIR/runs/01-capacity/run.json        the settings of the run, as the job's processes read them
    DIR/runs/01-capacity/trace.jsonl     its trace

The manifest is rewritten when a run begins, so that an interrupted recording can be read as well. The folder can be
moved, copied and read on another machine; nothing in it names its own place.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path

from veritasest import __version__
from veritasest.errors import TraceError, UsageError
from veritasest.spec.codec import from_plain, to_plain
from veritasest.spec.enums import Purpose
from veritasest.spec.gpu import GPU
from veritasest.trace.events import Trace
from veritasest.trace.reader import read

SCHEMA = 1
MANIFEST = "manifest.json"
_HINT = "a recording is a folder made by: veritasest run --save DIR ..."


@dataclass(frozen=True, kw_only=True)
class RunEntry:
    folder: str
    purpose: Purpose


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """`command`: as it was run. `gpu`: the target. `minimum`: whether the minimum capacity was asked for. `warnings`:
    what was known before the first run."""

    schema: int = SCHEMA
    veritasest: str = __version__
    created: str
    engine: str
    command: tuple[str, ...]
    gpu: GPU
    minimum: bool = False
    warnings: tuple[str, ...] = ()
    runs: tuple[RunEntry, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    purpose: Purpose
    folder: Path

    @property
    def trace_path(self) -> Path:
        return self.folder / "trace.jsonl"

    @property
    def settings_path(self) -> Path:
        return self.folder / "run.json"

    def trace(self) -> Trace:
        return _read(self.trace_path)


@lru_cache(maxsize=2)  # traces are large; the runs that matter most are asked for several times
def _read(path: Path) -> Trace:
    return read(path)


class Recording:
    """`runs` are those in the manifest, in order."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest

    @property
    def runs(self) -> tuple[RecordedRun, ...]:
        return tuple(RecordedRun(purpose=run.purpose, folder=self.folder / run.folder) for run in self.manifest.runs)

    def begin(self, purpose: Purpose) -> RecordedRun:
        """A folder for one more run."""
        name = f"runs/{len(self.manifest.runs) + 1:02}-{purpose.value.replace(' ', '-')}"
        (self.folder / name).mkdir(parents=True)
        entry = RunEntry(folder=name, purpose=purpose)
        self.manifest = replace(self.manifest, runs=(*self.manifest.runs, entry))
        self._write()
        return self.runs[-1]

    def _write(self) -> None:
        """Whole or not at all: a reader never finds half a manifest."""
        new = self.folder / f"{MANIFEST}.new"
        new.write_text(json.dumps(to_plain(self.manifest), indent=2) + "\n", encoding="utf-8")
        new.replace(self.folder / MANIFEST)


def timestamp() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def new_manifest(*, engine: str, command: Sequence[str], gpu: GPU, minimum: bool) -> Manifest:
    return Manifest(created=timestamp(), engine=engine, command=tuple(command), gpu=gpu, minimum=minimum)


def create_recording(folder: Path, manifest: Manifest) -> Recording:
    """A new recording in `folder`, which is made if needed and must be empty."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"the folder {folder} is not empty", "delete it, or name another")
        recording = Recording(folder.resolve(), manifest)
        recording._write()
    except OSError as error:
        raise UsageError(f"cannot write the recording {folder}: {error.strerror}", "name a writable folder") from error
    return recording


def open_recording(folder: str | os.PathLike[str]) -> Recording:
    """The recording in `folder`. Raises TraceError if it holds none that this version can read."""
    path = Path(folder)
    try:
        record = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        schema = int(record["schema"])
    except FileNotFoundError:
        raise TraceError(f"{path} is not a recording: it has no {MANIFEST}", _HINT) from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise TraceError(f"cannot read {path / MANIFEST}: {error}", _HINT) from error
    if schema != SCHEMA:
        remedy = "upgrade VeritasEst: pip install --upgrade veritasest" if schema > SCHEMA else "record the job again"
        raise TraceError(f"{path} has recording schema {schema}; this VeritasEst reads schema {SCHEMA}", remedy)
    try:
        manifest = from_plain(Manifest, record)
    except (ValueError, TypeError, KeyError) as error:
        raise TraceError(f"cannot read {path / MANIFEST}: {error}", _HINT) from error
    return Recording(path.resolve(), manifest)
