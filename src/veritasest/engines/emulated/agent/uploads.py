"""Keeps made-up weights and losses off the network: uploads succeed and do nothing, downloads stay as they are.

launch/files/trackers.py has the trackers that an environment variable keeps offline; these need functions replaced.
"""

from __future__ import annotations

import os
from concurrent.futures import Future
from functools import partial, wraps
from typing import Any

from veritasest.engines.emulated.agent.imports import after_import

_COMMITS = ("create_commit", "upload_file", "upload_folder", "delete_file", "delete_files", "delete_folder")
_WITHOUT_ANSWER = (
    "create_branch",
    "create_tag",
    "delete_branch",
    "delete_repo",
    "delete_tag",
    "move_repo",
    "preupload_lfs_files",
    "super_squash_history",
    "update_repo_settings",
    "update_repo_visibility",
    "upload_large_folder",
)
_LOCAL = ("file:", "sqlite:", "/", ".")


def install(*, layer: str | None) -> None:
    """`layer`: the folder that the interposer (native/files/) redirects writes to."""
    after_import("huggingface_hub.hf_api", _hub)
    after_import("mlflow", _mlflow)
    after_import("comet_ml", _comet)
    if layer:
        after_import("safetensors", partial(_safetensors, os.path.dirname(layer)))


def _hub(module: Any) -> None:
    """`HfApi` and the functions of the same names, which are the methods of one instance."""

    def repo(_self: Any, repo_id: str, **_: Any) -> Any:
        name = repo_id if "/" in repo_id else f"offline/{repo_id}"
        return module.RepoUrl(f"https://huggingface.co/{name}")

    def commit(_self: Any, *_: Any, repo_id: str = "offline/none", run_as_future: bool = False, **more: Any) -> Any:
        url = f"https://huggingface.co/{repo_id}/commit/{'0' * 40}"
        message = more.get("commit_message") or ""
        info = module.CommitInfo(commit_url=url, commit_message=message, commit_description="", oid="0" * 40)
        if not run_as_future:
            return info
        done: Future[Any] = Future()
        done.set_result(info)
        return done

    def nothing(_self: Any, *_: Any, **__: Any) -> None:
        return None

    replaced = {"create_repo": repo, **dict.fromkeys(_COMMITS, commit), **dict.fromkeys(_WITHOUT_ANSWER, nothing)}
    for name, function in replaced.items():
        original = getattr(module.HfApi, name, None)
        if original is None:
            continue
        setattr(module.HfApi, name, wraps(original)(function))
        if hasattr(module, name):
            setattr(module, name, getattr(module.api, name))


def _mlflow(module: Any) -> None:
    """A tracking server named by the script is left alone; runs go to a folder of the job's private layer."""
    original = module.set_tracking_uri

    @wraps(original)
    def set_tracking_uri(uri: Any) -> None:
        local = str(uri).startswith(_LOCAL) or "://" not in str(uri)
        original(uri if local else "file:./mlruns")

    module.set_tracking_uri = set_tracking_uri


def _comet(module: Any) -> None:
    for name in ("Experiment", "ExistingExperiment", "APIExperiment"):
        original = getattr(module, name, None)
        if original is not None:
            setattr(module, name, _disabled(original))


def _disabled(kind: Any) -> Any:
    """The same class, which then sends nothing: Comet's own switch."""

    @wraps(kind, updated=())
    def make(*args: Any, **keywords: Any) -> Any:
        return kind(*args, **{**keywords, "disabled": True})

    return make


def _safetensors(folder: str, module: Any) -> None:
    """It renames its temporary file by a system call of its own, which the interposer (native/files/) cannot redirect.
    So it writes next to the layer, which is left alone, and the finished file is moved in."""
    original = module.serialize_file

    @wraps(original)
    def serialize_file(tensor_dict: Any, filename: Any, *args: Any, **keywords: Any) -> None:
        temporary = os.path.join(folder, f"safetensors-{os.getpid()}-{os.urandom(8).hex()}")
        try:
            original(tensor_dict, temporary, *args, **keywords)
            os.replace(temporary, filename)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)

    module.serialize_file = serialize_file
