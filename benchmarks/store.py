"""Results as JSON lines, with the machine and the build on the first one, so that an interrupted benchmark goes on."""

import hashlib
import json
import os
import platform
from datetime import datetime, timezone
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from truth_files import add, commit, rows

from veritasest import __version__


def fingerprint() -> str:
    """Of the installed package: results of another build are old."""
    spec = find_spec("veritasest")
    folder = Path(spec.submodule_search_locations[0])
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            digest.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def provenance() -> dict:
    return {
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "build": fingerprint(),
        "commit": commit(),
        "veritasest": __version__,
        "torch": version("torch"),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
    }


class Store:
    """Rows by `key` in a file, each with the build it comes from. Those of another build stay until there are new ones;
    `keep`: they are as good as new."""

    def __init__(self, path: Path, key: tuple[str, ...], *, fresh: bool = False, keep: bool = False) -> None:
        self.path = path
        self._key = key
        self._keep = keep
        self.rows: dict[tuple, dict] = {}
        header = provenance()
        self._build = header["build"]
        if path.exists() and not fresh:
            self.rows = {self.key(row): row for row in rows(path)}
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in [header, *self.rows.values()]))

    def key(self, row: dict) -> tuple:
        return tuple(row[name] for name in self._key)

    def is_done(self, key: tuple) -> bool:
        return key in self.rows and (self._keep or self.rows[key]["build"] == self._build)

    def add(self, row: dict) -> None:
        row = {**row, "build": self._build}
        self.rows[self.key(row)] = row
        add(self.path, row)
