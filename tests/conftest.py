"""Puts this folder on the import path, for what all tests share; and keeps the user's own catalogue of GPUs out."""

import os
import tempfile
from pathlib import Path

# Before the first import of veritasest: the catalogue is read once.
os.environ["XDG_CONFIG_HOME"] = str(Path(tempfile.gettempdir()) / "no-configuration")
