"""Keeps the user's files as they are: what the job writes, renames or deletes lands in a layer that is discarded.

| module          | what it does |
|-----------------|--------------|
| `choose.py`     | which way the files of a job are kept: overlay, interposer, none, or --allow-writes |
| `layer.py`      | the folder of one run's changes: where it is, what is left out of it, how it ends |
| `overlay.py`    | the mounts that put the layer over every writable file system |
| `enter.py`, `start.py` | start the job inside the layer |
| `changes.py`    | counts what was held back |
| `trackers.py`   | keeps experiment trackers from sending anything |

The interposer is native/files/: the same for jobs whose kernel or container does not allow mounts.
"""

from veritasest.launch.files.changes import changes
from veritasest.launch.files.choose import INTERPOSER, SPARSE, Files, choose_files
from veritasest.launch.files.layer import Layer, open_layer
from veritasest.launch.files.start import start
from veritasest.launch.files.trackers import tracker_environment

__all__ = [
    "INTERPOSER",
    "SPARSE",
    "Files",
    "Layer",
    "changes",
    "choose_files",
    "open_layer",
    "start",
    "tracker_environment",
]
