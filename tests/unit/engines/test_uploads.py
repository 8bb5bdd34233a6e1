"""Uploads succeed and do nothing. Stand-ins play the libraries of the hub and of trackers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from veritasest.engines.emulated.agent import uploads


class HfApi:
    """Fails where it is not replaced: a test must not reach the network."""

    def upload_file(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("uploads")

    create_repo = delete_repo = upload_folder = upload_file

    def hf_hub_download(self, name: str) -> str:
        return f"downloaded {name}"


@pytest.fixture
def hub() -> SimpleNamespace:
    kind = type("HfApi", (HfApi,), dict(vars(HfApi)))
    api = kind()
    module = SimpleNamespace(HfApi=kind, api=api, RepoUrl=str, CommitInfo=SimpleNamespace, upload_file=api.upload_file)
    uploads._hub(module)
    return module


def test_uploads_to_the_hub_do_nothing_and_answer_as_usual(hub: SimpleNamespace) -> None:
    api = hub.HfApi()
    info = api.upload_folder(repo_id="me/model", folder_path=".", commit_message="weights")
    assert (info.commit_url, info.commit_message) == (f"https://huggingface.co/me/model/commit/{'0' * 40}", "weights")
    assert hub.upload_file(repo_id="me/model").oid == "0" * 40  # the function of the same name
    assert api.upload_file(repo_id="me/model", run_as_future=True).result().oid == "0" * 40
    assert api.create_repo("model") == "https://huggingface.co/offline/model"
    assert api.delete_repo("me/model") is None


def test_downloads_from_the_hub_stay_as_they_are(hub: SimpleNamespace) -> None:
    assert hub.HfApi().hf_hub_download("model") == "downloaded model"


@pytest.mark.parametrize(
    ("uri", "used"),
    [
        ("https://tracking.example", "file:./mlruns"),
        ("databricks://profile", "file:./mlruns"),
        ("sqlite:///runs.db", "sqlite:///runs.db"),
        ("./runs", "./runs"),
        ("runs", "runs"),
    ],
)
def test_runs_for_a_tracking_server_go_to_a_folder(uri: str, used: str) -> None:
    chosen: list[str] = []
    module = SimpleNamespace(set_tracking_uri=chosen.append)
    uploads._mlflow(module)
    module.set_tracking_uri(uri)
    assert chosen == [used]


def test_experiments_are_disabled_by_their_own_switch() -> None:
    module = SimpleNamespace(Experiment=lambda **options: options)
    uploads._comet(module)
    assert module.Experiment(project="x") == {"project": "x", "disabled": True}


@pytest.mark.parametrize("fails", [False, True])
def test_tensors_are_written_outside_of_the_layer_and_moved_in(tmp_path: Path, fails: bool) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "model.safetensors"
    outside.mkdir()
    written: list[Path] = []

    def serialize_file(tensors: bytes, filename: str) -> None:
        written.append(Path(filename))
        Path(filename).write_bytes(tensors)
        if fails:
            raise OSError("disk full")

    module = SimpleNamespace(serialize_file=serialize_file)
    uploads._safetensors(str(outside), module)
    if fails:
        with pytest.raises(OSError, match="disk full"):
            module.serialize_file(b"weights", str(inside))
    else:
        module.serialize_file(b"weights", str(inside))
    assert [path.parent for path in written] == [outside]
    assert list(outside.iterdir()) == []
    assert inside.exists() is not fails
