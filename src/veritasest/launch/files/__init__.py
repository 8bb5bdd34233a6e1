"""Keeps the user's files as they are: what the job writes, renames or deletes lands in a layer that is discarded.

| module          | what it does |
|-----------------|--------------|
| `choose.py`     | which way the files of a job are kept: overlay, interposer, none, or --allow-writes |
| `layer.py`      | the folder of one run's changes: where it is, what is left out of it, how it ends |
| `overlay.py`    | the mounts that put the layer over every writable file system |
| `enter.py`, `start.py` | start the job inside the layer |
| `changes.py`    | counts what was held back |
| `environment.py` | what the job must know about its layer |
| `trackers.py`   | keeps experiment trackers from sending anything |

The interposer is native/files/: the same for jobs whose kernel or container does not allow mounts.
"""

from veritasest.launch.files.changes import changes
from veritasest.launch.files.choose import Files, choose_files
from veritasest.launch.files.environment import layer_environment, layer_settings
from veritasest.launch.files.layer import Layer, open_layer
from veritasest.launch.files.start import start

__all__ = [
    "Files",
    "Layer",
    "changes",
    "choose_files",
    "layer_environment",
    "layer_settings",
    "open_layer",
    "start",
]
