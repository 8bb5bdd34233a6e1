"""Configures the emulated CUDA device and runs a command on it."""

from veritasest.device.environment import StopRule, child_environment, device_warnings
from veritasest.device.files import Files, choose_files
from veritasest.device.interpreter import Command, TorchBuild, inspect_build, resolve
from veritasest.device.launch import Outcome, Progress, launch
from veritasest.device.libraries import Installation, installed, plain_paths
from veritasest.device.values import Values, checked_values

__all__ = [
    "Command",
    "Files",
    "Installation",
    "Outcome",
    "Progress",
    "StopRule",
    "TorchBuild",
    "Values",
    "checked_values",
    "child_environment",
    "choose_files",
    "device_warnings",
    "inspect_build",
    "installed",
    "launch",
    "plain_paths",
    "resolve",
]
