"""On the path of every job that `benchmarks.record.gpu_runs` starts: writes the peaks of a process when it ends.

The job's script needs no change, and is started as a user would start it.
"""

import atexit
import json
import os
import sys


def write_peaks():
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():  # a helper process of the job, or it failed early
        return
    peaks = {
        "allocated_bytes": torch.cuda.max_memory_allocated(),
        "reserved_bytes": torch.cuda.max_memory_reserved(),
        "allocator_retries": torch.cuda.memory_stats().get("num_alloc_retries", 0),
    }
    with open(f"{os.environ['BENCHMARK_PEAKS']}/peaks-{os.getpid()}.json", "w") as file:
        json.dump(peaks, file)


if "BENCHMARK_PEAKS" in os.environ:
    atexit.register(write_peaks)
