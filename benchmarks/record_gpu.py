"""Runs a list of jobs on a machine with a CUDA GPU and stores their peaks, one JSON line each.

    python benchmarks/record_gpu.py benchmarks/jobs/unseen.txt OUTPUT.jsonl [--parallel 6]

The list has one job a line: options of `jobs/truth_job.py`, or another script of that folder with its options, like
`steered/moe.py --prec bf16`. Every job runs in a process of its own, several side by side; peaks are per process, so
they do not disturb each other. Goes on where it was interrupted. The first line says which GPU, driver and versions the
numbers come from.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

JOBS = Path(__file__).resolve().parent / "jobs"
PATIENCE_S = 300
PROVENANCE = (
    "import torch, json; p = torch.cuda.get_device_properties(0); print(json.dumps({'gpu': p.name, "
    "'total_bytes': p.total_memory, 'torch': torch.__version__, 'cuda': torch.version.cuda, "
    "'cudnn': torch.backends.cudnn.version()}))"
)


def provenance() -> dict:
    facts = json.loads(subprocess.run([sys.executable, "-c", PROVENANCE], capture_output=True, check=True).stdout)
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    facts["driver"] = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return {"created": datetime.now(timezone.utc).isoformat(timespec="seconds"), **facts}


def command(options: str) -> list[str]:
    words = options.split()
    script = words.pop(0) if words[0].endswith(".py") else "truth_job.py"
    return [sys.executable, str(JOBS / script), *words]


def record(options: str) -> dict:
    start = time.monotonic()
    try:
        done = subprocess.run(command(options), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        return {"options": options, "error": f"no end after {PATIENCE_S} s"}
    if done.returncode != 0:
        return {"options": options, "error": (done.stderr.strip().splitlines() or ["no message"])[-1][:300]}
    row = json.loads(done.stdout.splitlines()[-1])
    return {**row, "options": options, "seconds": round(time.monotonic() - start, 1)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--parallel", type=int, default=6)
    chosen = parser.parse_args()
    done = set()
    if chosen.output.exists():
        done = {json.loads(line).get("options") for line in chosen.output.read_text().splitlines()}
    todo = [line for line in chosen.jobs.read_text().splitlines() if line and line not in done]
    with chosen.output.open("a") as file, ThreadPoolExecutor(chosen.parallel) as pool:
        if not done:
            file.write(json.dumps(provenance()) + "\n")
        for number, row in enumerate(pool.map(record, todo), 1):
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"{number}/{len(todo)} {row.get('options')} {row.get('error', '')}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
