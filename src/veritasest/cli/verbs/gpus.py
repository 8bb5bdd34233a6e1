"""List the GPUs that can be emulated, and where their numbers come from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from veritasest.cli.parser import Parser
from veritasest.gpus import load
from veritasest.units import format_bytes

EXAMPLE = "gpus"


def main(argv: Sequence[str]) -> int:
    parser = Parser("gpus", __doc__)
    parser.add_argument("--json", action="store_true", help="the whole catalogue as JSON")
    if parser.parse_args(argv).json:
        print(json.dumps([asdict(gpu) for gpu in load()], indent=2))
        return 0
    columns = "{:<11} {:<24} {:>7} {:>4} {:>10} {:>10}  {:<21}  {}"
    titles = ("gpu", "name", "compute", "SMs", "memory", "context", "reported memory", "evidence (memory; context)")
    print(columns.format(*titles))
    for gpu in load():
        evidence = f"{gpu.evidence['total_bytes']}; {gpu.evidence['context_bytes']}"
        memory, context = format_bytes(gpu.total_bytes), format_bytes(gpu.context_bytes)
        reported = " - ".join(format_bytes(total) for total in gpu.total_bytes_range or ())
        facts = (gpu.id, gpu.name, gpu.compute_capability, gpu.sm_count, memory, context, reported, evidence)
        print(columns.format(*facts))
    return 0
