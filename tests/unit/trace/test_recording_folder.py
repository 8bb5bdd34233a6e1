"""The folder that holds the runs of an estimate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from veritasest.errors import TraceError, UsageError
from veritasest.gpus import find
from veritasest.spec.enums import Purpose
from veritasest.trace.recording import MANIFEST, SCHEMA, Recording, create_recording, new_manifest, open_recording


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    manifest = new_manifest(engine="scripted", command=("python", "train.py"), gpu=find("t4"), minimum=True)
    return create_recording(tmp_path / "saved", manifest)


def test_a_recording_is_opened_as_it_was_made(recording: Recording) -> None:
    recording.begin(Purpose.CAPACITY)
    recording.begin(Purpose.GUESSES_LOW)
    found = open_recording(recording.folder)
    assert found.manifest == recording.manifest
    assert [(run.purpose, run.folder.name) for run in found.runs] == [
        (Purpose.CAPACITY, "01-capacity"),
        (Purpose.GUESSES_LOW, "02-guesses-low"),
    ]
    assert all(run.folder.is_dir() for run in found.runs)


def test_a_moved_recording_finds_its_runs(recording: Recording, tmp_path: Path) -> None:
    recording.begin(Purpose.CAPACITY)
    moved = recording.folder.rename(tmp_path / "elsewhere")
    (run,) = open_recording(moved).runs
    assert run.folder == moved / "runs" / "01-capacity"


def test_nothing_in_the_manifest_names_its_place(recording: Recording, tmp_path: Path) -> None:
    recording.begin(Purpose.CAPACITY)
    assert str(tmp_path) not in (recording.folder / MANIFEST).read_text()


def test_a_folder_that_is_not_empty_is_refused(recording: Recording) -> None:
    with pytest.raises(UsageError, match="is not empty"):
        create_recording(recording.folder, recording.manifest)


def test_a_folder_that_cannot_be_made_is_refused(recording: Recording, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot write the recording"):
        create_recording(tmp_path / "file" / "below", recording.manifest)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "cannot read"),
        ("[]", "cannot read"),
        ("{}", "cannot read"),
        (json.dumps({"schema": SCHEMA}), "cannot read"),
        (json.dumps({"schema": SCHEMA + 1}), f"has recording schema {SCHEMA + 1}"),
        (json.dumps({"schema": SCHEMA - 1}), f"has recording schema {SCHEMA - 1}"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_refused(tmp_path: Path, text: str, match: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(TraceError, match=match):
        open_recording(tmp_path)


def test_a_folder_without_a_manifest_is_not_a_recording(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=f"it has no {MANIFEST}") as caught:
        open_recording(tmp_path)
    assert "veritasest run --save DIR" in caught.value.hint
