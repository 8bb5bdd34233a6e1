"""Files of JSON lines: rows about a job, and header rows that say where they come from.

Large files are kept compressed. `rows.jsonl` stands for `rows.jsonl.gz` and `rows.jsonl` together: new rows are
appended to the plain file, and `compress` moves them into the compressed one.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable
from pathlib import Path

COMPRESS_FROM_BYTES = 150_000


def compressed(path: Path) -> Path:
    """The compressed companion of a plain file."""
    return path.with_name(f"{path.name}.gz")


def read_lines(path: Path) -> list[dict]:
    """All rows, none if the file is missing. A last line that is still being written is left out."""
    packed = compressed(path)
    found = _parse(gzip.decompress(packed.read_bytes()).decode(), packed) if packed.exists() else []
    return found + (_parse(path.read_text(), path) if path.exists() else [])


def _parse(text: str, path: Path) -> list[dict]:
    lines = text.splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found += [json.loads(line)] if line.strip() else []
        except json.JSONDecodeError as error:
            if number < len(lines):
                raise SystemExit(f"{path}:{number} is not JSON ({error}); correct or delete the line") from None
    return found


def headers(path: Path) -> list[dict]:
    """The rows that say where the others come from."""
    return [row for row in read_lines(path) if "job" not in row]


def rows(path: Path) -> list[dict]:
    """The rows about a job."""
    return [row for row in read_lines(path) if "job" in row]


def add(path: Path, row: dict) -> None:
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def write_compressed(path: Path, found: Iterable[dict]) -> None:
    """Replaces what `path` stands for. The same rows always give the same bytes."""
    text = "".join(json.dumps(row) + "\n" for row in found)
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as file:  # no name and time in the header
        file.write(text.encode())
    compressed(path).write_bytes(buffer.getvalue())
    path.unlink(missing_ok=True)


def compress(path: Path) -> None:
    """Moves rows of a plain file into the compressed one, if there is one or the plain file is large."""
    if path.exists() and (compressed(path).exists() or path.stat().st_size > COMPRESS_FROM_BYTES):
        write_compressed(path, read_lines(path))
