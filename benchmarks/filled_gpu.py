"""Does a job's process take what its estimate says? Asked of a GPU that another process fills up.

    python benchmarks/filled_gpu.py [--jobs 12]      on a machine with a CUDA GPU that nobody else uses

Writes `truth/..._filled.jsonl`.
Each job runs with exactly the estimated process left free, where nothing should press, and with `SHORT` less, where
something should. Nothing limits PyTorch: what the CUDA context and libraries take counts as it does on a smaller GPU.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import joblists
from gpu_runs import Gpu
from record_gpu import file_stem, provenance
from scoring import is_pressed
from truth_files import RESULTS, TRUTH, add, peaks, rows

SHORT = 32 << 20
LARGEST = 100 << 30

# Takes all but the bytes it is told, to the 2 MiB in which the driver counts; tells what is left.
FILLER = """
import torch
held = None
for line in iter(input, ""):
    held = None
    torch.cuda.empty_cache()
    spare = torch.cuda.mem_get_info()[0] - int(line)
    held = torch.empty(spare >> 21 << 21, dtype=torch.uint8, device="cuda")
    print(torch.cuda.mem_get_info()[0], flush=True)
"""


class Filler:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", FILLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def leave(self, free_bytes: int) -> int:
        self._process.stdin.write(f"{free_bytes}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def stop(self) -> None:
        self._process.communicate("\n")


def chosen(count: int) -> list[tuple[joblists.Job, int]]:
    """By a hash of the line: jobs that run alike each time, with the process estimated for them."""
    estimated = {row["job"]: row for row in rows(RESULTS / "estimates.jsonl")}
    recorded = peaks()
    jobs = [
        job
        for job in joblists.drawn(joblists.read())
        if job.line in recorded.keys() & estimated.keys() and not job.variables
    ]
    same = [job for job in jobs if estimated[job.line]["reserved_bytes"] == recorded[job.line]["reserved_bytes"]]
    sizes = [(job, estimated[job.line]["process_bytes"]) for job in same]
    return [(job, size) for job, size in sizes if size and size < LARGEST][:count]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--folder", type=Path, default=TRUTH, help="where the file goes")
    parser.add_argument("--commit", help="what to note as the commit, where git cannot tell")
    args = parser.parse_args()
    facts = provenance(args.commit)
    path = args.folder / f"{file_stem(facts)}_filled.jsonl"
    add(path, {**facts, "stage": "filled"})
    gpu, filler = Gpu(facts["total_bytes"]), Filler()
    for job, process_bytes in chosen(args.jobs):
        for short_bytes in (0, SHORT):
            free_bytes = filler.leave(process_bytes - short_bytes)
            row = {"job": job.line, "free_bytes": free_bytes, "short_bytes": short_bytes, **gpu.run(job, 0)}
            add(path, {**row, "recording": facts["recording"]})
            print(
                "pressed" if is_pressed(row) else "not pressed", short_bytes >> 20, "MiB short:", job.line, flush=True
            )
    filler.stop()
    gpu.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
