"""Estimates of one kind as JSON lines, written as they are made, so that an interrupted evaluation can continue."""

from __future__ import annotations

from pathlib import Path

from benchmarks.json_lines import add, rows


class ResultsFile:
    """Rows by job and capacity. Each carries the commit and the hash of the package that made it."""

    def __init__(self, path: Path, kind: str, provenance: dict) -> None:
        self.path = path
        self._labels = {"kind": kind, "commit": provenance["commit"], "build": provenance["build"]}
        self.rows = {self.key(row): row for row in rows(path) if row["kind"] == kind}
        path.parent.mkdir(parents=True, exist_ok=True)
        add(path, {"kind": kind, **provenance})

    @staticmethod
    def key(row: dict) -> tuple[str, int | None]:
        return (row["job"], row["capacity_gib"])

    def is_done(self, key: tuple[str, int | None]) -> bool:
        """Whether this very build has estimated it; rows of other builds are made again."""
        row = self.rows.get(key)
        return row is not None and all(row[name] == value for name, value in self._labels.items())

    def add(self, row: dict) -> None:
        row = {**row, **self._labels}
        self.rows[self.key(row)] = row
        add(self.path, row)
