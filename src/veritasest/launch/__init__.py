"""From a command to a watched process tree; knows engines only by their protocol (engines/base.py)."""

from veritasest.launch.command import resolve
from veritasest.launch.files import Files, choose_files
from veritasest.launch.launcher import Outcome, Output, launch
from veritasest.launch.progress import Progress

__all__ = ["Files", "Outcome", "Output", "Progress", "choose_files", "launch", "resolve"]
