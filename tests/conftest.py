"""Puts this folder on the import path, for what all tests share; keeps the user's own catalogue of GPUs out; and lets
no property test fail because the machine is busy."""

import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings

# Before the first import of veritasest: the catalogue is read once.
os.environ["XDG_CONFIG_HOME"] = str(Path(tempfile.gettempdir()) / "no-configuration")

settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machine")
