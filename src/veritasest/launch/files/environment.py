"""What the job and the native part must know about the private file layer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from veritasest.launch.files.choose import INTERPOSER, SPARSE, Files
from veritasest.launch.files.layer import Layer
from veritasest.launch.files.trackers import tracker_environment
from veritasest.spec.enums import FileMode


def layer_environment(base: Mapping[str, str], libraries: Path, files: Files, layer: Layer | None) -> dict[str, str]:
    """Zeros are written as holes in every layer; without an overlay, calls that name files are redirected as well."""
    environment = {**base, **tracker_environment(base, mode=files.mode)}
    if layer is None:
        return environment
    names = (INTERPOSER, SPARSE) if files.mode is FileMode.INTERPOSER else (SPARSE,)
    paths = [str(libraries / name) for name in names if (libraries / name).exists()]
    environment["LD_PRELOAD"] = ":".join(filter(None, [*paths, base.get("LD_PRELOAD")]))
    return environment


def layer_settings(files: Files, layer: Layer | None) -> dict[str, str]:
    """For the interposer (native/files/)."""
    if layer is None or files.mode is not FileMode.INTERPOSER:
        return {}
    return {"layer": str(layer.interposed_upper()), "kept": "\n".join((*layer.kept, *layer.wanted))}
