"""The estimate as JSON. The schema is that of `veritasest.spec.estimate`, versioned by `schema_version`."""

from __future__ import annotations

import json
from typing import TextIO

from veritasest.report.registry import Reporter
from veritasest.spec.estimate import Estimate
from veritasest.trace.recording import Recording


def to_json(estimate: Estimate) -> str:
    return json.dumps(estimate.to_dict(), indent=2) + "\n"


def write(estimate: Estimate, _recording: Recording | None, stream: TextIO) -> None:
    stream.write(to_json(estimate))


REPORTER = Reporter(name="json", help="write the estimate as JSON; - for standard output", write=write)
