"""The estimate as JSON. The schema is that of `veritasest.spec.estimate`, versioned by `schema_version`."""

from __future__ import annotations

import json

from veritasest.spec.estimate import Estimate


def to_json(estimate: Estimate) -> str:
    return json.dumps(estimate.to_dict(), indent=2) + "\n"
