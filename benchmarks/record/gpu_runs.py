"""Runs jobs on a CUDA GPU: each in its own process, as many side by side as the GPU's memory holds."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

from benchmarks.job_lists import Job

HOOK = Path(__file__).resolve().parent / "hook"
TIMEOUT_S = 240
SAMPLE_MS = 200
STDERR_CHARACTERS = 2000  # kept of a job that failed
SPARE_BYTES = 4 << 30  # never reserved for a job
PROCESS_BYTES = 1 << 30  # CUDA context, kernels and library handles, in addition to PyTorch's memory


class DeadlinePassed(Exception):
    """A run was not started because the deadline has passed."""


class Memory:
    """The GPU's memory, shared out to jobs before they start; a job waits until its share is free."""

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes - SPARE_BYTES
        self.free_bytes = self.total_bytes
        self._changed = threading.Condition()

    @contextmanager
    def share(self, wanted_bytes: int):
        wanted = min(wanted_bytes + PROCESS_BYTES, self.total_bytes)
        with self._changed:
            self._changed.wait_for(lambda: self.free_bytes >= wanted)
            self.free_bytes -= wanted
        try:
            yield
        finally:
            with self._changed:
                self.free_bytes += wanted
                self._changed.notify_all()


class ProcessMemory:
    """The most that NVML reported for each process, sampled in the background."""

    def __init__(self) -> None:
        self.most_bytes: dict[int, int] = defaultdict(int)
        words = ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
        self._sampler = subprocess.Popen([*words, "-lms", str(SAMPLE_MS)], stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._sampler.stdout:
            pid, _, used_mib = line.strip().partition(", ")
            if pid.isdigit() and used_mib.isdigit():
                self.most_bytes[int(pid)] = max(self.most_bytes[int(pid)], int(used_mib) << 20)

    def stop(self) -> None:
        self._sampler.terminate()


def fraction_of(limit_bytes: int, total_bytes: int) -> float:
    """The smallest fraction that PyTorch turns into exactly this limit: it multiplies and rounds down."""
    fraction = limit_bytes / total_bytes
    while int(fraction * total_bytes) < limit_bytes:
        fraction = math.nextafter(fraction, 2)
    while int(math.nextafter(fraction, 0) * total_bytes) >= limit_bytes:
        fraction = math.nextafter(fraction, 0)
    return fraction


class Gpu:
    def __init__(self, total_bytes: int, deadline_s: float | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self.total_bytes = total_bytes
        self.memory = Memory(total_bytes)
        self.timeout_s = timeout_s
        self._last_start = math.inf if deadline_s is None else time.monotonic() + deadline_s
        self._processes = ProcessMemory()

    def close(self) -> None:
        self._processes.stop()

    def run(self, job: Job, expected_bytes: int, limit_bytes: int | None = None) -> dict:
        """One run; `completed`, the peaks, and the error when there is one."""
        if time.monotonic() > self._last_start:
            raise DeadlinePassed("the deadline for starting a run has passed")
        with self.memory.share(expected_bytes), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            start = time.monotonic()
            if start > self._last_start:  # after waiting for its memory
                raise DeadlinePassed("the deadline for starting a run has passed")
            process = subprocess.Popen(
                job.command(),
                env=self._environment(job, Path(folder), limit_bytes),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                _, errors = process.communicate(timeout=self.timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                _, errors = process.communicate()
                errors += f"\nno end after {self.timeout_s:g} s"
            row: dict = {"completed": process.returncode == 0, "exit": process.returncode}
            if process.returncode != 0:
                row["error"] = last_error(errors)
                row["out_of_memory"] = "OutOfMemoryError" in errors or "out of memory" in errors
                row["stderr"] = errors[-STDERR_CHARACTERS:]
            row |= largest_peaks(Path(folder))
            if used := self._processes.most_bytes.get(process.pid):
                row["process_bytes"] = used
            return row | {"seconds": round(time.monotonic() - start, 1)}

    def _environment(self, job: Job, folder: Path, limit_bytes: int | None) -> dict[str, str]:
        """Temporary files and compile caches are in the run's own folder: each run is a first one."""
        environment = job.environment()
        path = [str(HOOK), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment |= {"PYTHONPATH": os.pathsep.join(path), "BENCHMARK_PEAKS": str(folder), "TMPDIR": str(folder)}
        environment |= {f"{name}_CACHE_DIR": str(folder / name.lower()) for name in ("TORCHINDUCTOR", "TRITON")}
        if limit_bytes is not None:
            name = "PYTORCH_CUDA_ALLOC_CONF"
            limit = f"per_process_memory_fraction:{fraction_of(limit_bytes, self.total_bytes)!r}"
            environment[name] = ",".join(filter(None, [environment.get(name), limit]))
        return environment


def had_memory_pressure(row: dict) -> bool:
    """Whether a run failed, or PyTorch had to free its cache and try an allocation again."""
    return not row["completed"] or row.get("allocator_retries", 0) > 0


def largest_peaks(folder: Path) -> dict:
    """Of the job's processes the one that reserved the most; nothing if none wrote its peaks."""
    found = [json.loads(file.read_text()) for file in folder.glob("peaks-*.json")]
    most = max(found, key=lambda peaks: peaks["reserved_bytes"], default={})
    return most | ({"processes": len(found)} if len(found) > 1 else {})


def last_error(errors: str) -> str:
    lines = [line for line in errors.strip().splitlines() if line.strip()]
    return next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "no message")[:300]
