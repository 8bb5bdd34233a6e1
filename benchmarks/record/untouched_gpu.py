"""Checks on a machine with a GPU that estimates do not touch it, and give the same bytes as elsewhere.

    python -m benchmarks.record.untouched_gpu [--jobs gpt_s resnet50] [--output FILE]

While each estimate runs, `nvidia-smi` is polled for the processes that hold a context and for the GPU memory in use.
Prints one JSON line per job; exit code 1 if the GPU was touched.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
from pathlib import Path

from benchmarks.estimate import fields
from benchmarks.job_lists import JOBS

JOB = JOBS / "truth_job.py"


def ask_gpu(query: str) -> str:
    command = ["nvidia-smi", f"--query-{query}", "--format=csv,noheader,nounits"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


class Watch:
    """Samples the GPU in the background until `stop`."""

    def __init__(self) -> None:
        self.samples = 0
        self.processes: set[str] = set()
        self.used_mib: set[int] = set()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self.processes.update(filter(None, ask_gpu("compute-apps=pid,used_memory").splitlines()))
            self.used_mib.add(int(ask_gpu("gpu=memory.used")))
            self.samples += 1

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


def estimate(model: str) -> dict[str, object]:
    words = ["--gpu", "h200", "--steps", "3", "--json", "-", "--", sys.executable, str(JOB), "--model", model]
    run = subprocess.run([sys.executable, "-m", "veritasest", "run", *words], stdout=subprocess.PIPE, check=True)
    found = json.loads(run.stdout)
    return {
        "allocated_bytes": fields.peak_allocated_bytes(found),
        "reserved_bytes": fields.peak_reserved_bytes(found),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", nargs="+", default=["gpt_s", "resnet50"])
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    before_mib = int(ask_gpu("gpu=memory.used"))
    touched = False
    for model in options.jobs:
        watch = Watch()
        peak = estimate(model)
        watch.stop()
        grew_mib = max(watch.used_mib) - before_mib
        touched |= bool(watch.processes) or grew_mib > 0
        record = {
            "model": model,
            **peak,
            "gpu_samples": watch.samples,
            "gpu_processes": sorted(watch.processes),
            "gpu_memory_grew_mib": grew_mib,
        }
        line = json.dumps(record)
        print(line)
        if options.output:
            with options.output.open("a") as file:
                file.write(line + "\n")
    return int(touched)


if __name__ == "__main__":
    sys.exit(main())
