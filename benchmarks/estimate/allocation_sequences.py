"""The first allocation of a job that differs between the GPU and the estimate: from a wrong peak to its cause.

    python -m benchmarks.estimate.allocation_sequences record 'LINE' FILE     with a CUDA GPU; LINE as in jobs/*.txt
    python -m benchmarks.estimate.allocation_sequences compare 'LINE' FILE    estimates the job here and compares

FILE is gzipped JSON: what PyTorch's allocator did, event by event, and the Python stack of every new segment.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import zip_longest
from pathlib import Path

from benchmarks.estimate.one_job import run_estimate
from benchmarks.job_lists import Job

MIB = 2**20
SHOWN_FRAMES = 12
SHOWN_BEFORE = 6  # events in front of the first that differs

# Runs a script as `python script.py` would, and writes the history when it ends.
RUN_RECORDED = f"""
import atexit, gzip, json, os, runpy, sys
import torch

def write():
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    stacks = {{
        index: [f"{{f['filename']}}:{{f['line']}} {{f['name']}}" for f in event["frames"][:{SHOWN_FRAMES}]]
        for index, event in enumerate(events)
        if event["action"] == "segment_alloc"
    }}
    actions, sizes = [event["action"] for event in events], [event["size"] for event in events]
    found = {{"actions": actions, "sizes": sizes, "stacks": stacks}}
    with gzip.open(os.environ["BENCHMARK_HISTORY"], "wt") as file:
        json.dump(found, file)

torch.cuda.memory._record_memory_history("all", context="alloc", stacks="python", max_entries=10_000_000)
atexit.register(write)
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def record(job: Job, path: Path) -> None:
    python, *script = job.command()
    environment = job.environment() | {"BENCHMARK_HISTORY": str(path.resolve())}
    subprocess.run([python, "-c", RUN_RECORDED, *script], env=environment, check=True)


def events_of(folder: Path) -> tuple[str, list[int]]:
    """Of the first run of a recording: what the allocator did, and with how many bytes."""
    from veritasest.trace import Blocks
    from veritasest.trace.recording import open_recording

    actions, sizes = "", []
    for record in open_recording(folder).runs[0].trace().of(Blocks):
        actions += record.actions
        sizes += record.sizes
    return actions, sizes


def estimated(job: Job) -> tuple[str, list[int]]:
    with tempfile.TemporaryDirectory() as folder:
        run_estimate(job, "--save", folder)
        return events_of(Path(folder))


def only(letters: str, actions: str, sizes: list[int]) -> list[tuple[int, str, int]]:
    """The events of these kinds, with their positions."""
    found = enumerate(zip(actions, sizes, strict=True))
    return [(place, action, size) for place, (action, size) in found if action in letters]


def compare(job: Job, path: Path) -> None:
    from veritasest.spec.enums import AllocatorAction

    with gzip.open(path, "rt") as file:
        recorded = json.load(file)
    truth = ("".join(AllocatorAction.named(action) for action in recorded["actions"]), recorded["sizes"])
    ours = estimated(job)
    for letters, name in (("a", "allocations"), ("ar", "allocations and frees"), ("s", "segments")):
        left, right = only(letters, *truth), only(letters, *ours)
        differ = (
            index
            for index, (one, other) in enumerate(zip_longest(left, right))
            if (one and one[1:]) != (other and other[1:])
        )
        first = next(differ, None)
        print(f"{name}: {len(left)} on the GPU, {len(right)} estimated;", end=" ")
        print("all equal" if first is None else f"the first to differ is number {first}")
        if first is not None:
            show("GPU", left, first, recorded["stacks"])
            show("estimate", right, first, {})
    more, less = (Counter(size for _, _, size in only("s", *side)) for side in (truth, ours))
    for size in sorted((more - less) | (less - more), reverse=True):
        print(f"segments of {size / MIB:.1f} MiB: {more[size]} on the GPU, {less[size]} estimated")


def show(name: str, events: list[tuple[int, str, int]], first: int, stacks: dict[str, list[str]]) -> None:
    for place, action, size in events[max(first - SHOWN_BEFORE, 0) : first + 2]:
        print(f"  {name} {place} {action} {size}")
        for frame in stacks.get(str(place), []):
            print(f"      {frame}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("line", help="the job")
    parser.add_argument("file", type=Path)
    chosen = parser.parse_args()
    {"record": record, "compare": compare}[chosen.what](Job(chosen.line, "any"), chosen.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
