"""Keeps experiment trackers from uploading the meaningless numbers of an emulated run. See agent/uploads.py as well."""

from __future__ import annotations

from collections.abc import Mapping

from veritasest.spec.enums import FileMode

# Each as its own documentation has it; a user's stricter choice stays.
_ALWAYS = {
    "CLEARML_OFFLINE_MODE": "1",
    "COMET_MODE": "DISABLED",  # transformers
    "COMET_START_ONLINE": "0",  # comet_ml.start()
    "NEPTUNE_MODE": "offline",
    "SWANLAB_MODE": "disabled",
}
_LOCAL = ("file:", "sqlite:", "/", ".")


def tracker_environment(base: Mapping[str, str], *, mode: FileMode) -> dict[str, str]:
    """Variables for the job. W&B offline writes its files through a program of its own, which the interposer does not
    reach; there it is disabled."""
    changed = {**_ALWAYS, "WANDB_MODE": "offline" if mode is FileMode.OVERLAY else "disabled"}
    if base.get("WANDB_MODE") == "disabled":
        changed["WANDB_MODE"] = "disabled"
    if (uri := base.get("MLFLOW_TRACKING_URI")) and not uri.startswith(_LOCAL):
        changed["MLFLOW_TRACKING_URI"] = "file:./mlruns"
    return changed
