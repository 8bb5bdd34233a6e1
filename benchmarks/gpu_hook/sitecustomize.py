"""On the path of every job that `record_gpu.py` starts: writes a process's own peaks when it ends.

Thus the job's script stays as its user wrote it, and is started as its user would start it.
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
