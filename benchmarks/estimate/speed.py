"""The cost of an estimate over the job itself: time, host memory, growth with the batch.

    python -m benchmarks.estimate.speed        on an otherwise idle machine; writes results/speed.json,
                                               exit code 1 on a missed target

The yardstick is the same job on the bare emulated device: the stand-in libraries without the agent. The cost of
tracking values is measured against `--values off`. Repetitions are interleaved, so that a slow minute of the
machine affects all of them alike, and the best one counts.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.emulated_device import emulated_environment
from benchmarks.job_lists import JOBS as JOB_SCRIPTS
from benchmarks.job_lists import Job
from benchmarks.provenance import current_commit, estimate_provenance
from benchmarks.published_estimates import RESULTS

REPETITIONS = 3
ITERATIONS = 3
TIME_RATIO, TIME_EXTRA_S = 1.3, 0.5
VALUES_RATIO = 1.15
HOST_GROWTH_BYTES = 300 * 10**6
BATCH_EXTRA_S = 0.5


def job(model: str, batch_size: int, optimizer: str) -> Job:
    return Job(f"truth_job.py --model {model} --bs {batch_size} --opt {optimizer} --iters {ITERATIONS}", "speed")


JOBS = [job("gpt_s", 8, "adamw"), job("resnet50", 32, "adam"), job("vit_b_16", 32, "adam"), job("hf:bert", 4, "adamw")]
BATCHES = (8, 512)
SMALL_BATCH, LARGE_BATCH = (job("resnet50", size, "sgd") for size in BATCHES)

BUILD_ONLY = "import sys, truth_job; model = truth_job.build(sys.argv[1])"
GENERATE_ONLY = """
import sys, time, torch
bs, iters = int(sys.argv[1]), int(sys.argv[2])
start = time.perf_counter()
for _ in range(iters):
    x = torch.randn(bs, 3, 224, 224)
    y = torch.randint(1000, (bs,))
print(time.perf_counter() - start)
"""


@dataclass(frozen=True, kw_only=True)
class Cost:
    seconds: float
    host_bytes: int  # of the largest process: the job


def best(costs: list[Cost]) -> Cost:
    return Cost(seconds=min(cost.seconds for cost in costs), host_bytes=min(cost.host_bytes for cost in costs))


def cost_of(words: list[str], env: dict[str, str]) -> Cost:
    """Runs a command; wait4 reports the largest resident size of it and its children."""
    with tempfile.TemporaryFile() as output:
        start = time.monotonic()
        process = subprocess.Popen(words, env=env, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            tail = output.read().decode(errors="replace")[-2000:]
            raise SystemExit(f"exit code {process.returncode} from: {' '.join(words)}\n{tail}")
    return Cost(seconds=seconds, host_bytes=usage.ru_maxrss * 1024)


def with_agent(job: Job, values: str = "auto") -> Cost:
    # To the job's own end, as on the bare device: an early stop would skip the interpreter's teardown.
    options = ["--gpu", "h200", "--until-exit", "--quiet", "--values", values]
    return cost_of([sys.executable, "-m", "veritasest", "run", *options, "--", *job.command()], job.environment())


def bare(job: Job) -> Cost:
    """The emulated device without the agent, which PYTHONPATH would start."""
    base = job.environment()
    own_path = {key: base[key] for key in ("PYTHONPATH",) if key in base}
    with (
        tempfile.TemporaryDirectory() as folder,
        emulated_environment(Path(folder), base=base, limited=True) as env,
    ):
        without_agent = {key: value for key, value in env.items() if key != "PYTHONPATH"}
        return cost_of(job.command(), without_agent | own_path)


def build_only(job: Job) -> Cost:
    """`import torch` and building the model, on the CPU, with no emulated device."""
    words = [sys.executable, "-c", BUILD_ONLY, job.option("--model")]
    return cost_of(words, job.environment() | {"PYTHONPATH": str(JOB_SCRIPTS)})


def generation_seconds(batch_size: int) -> float:
    words = [sys.executable, "-c", GENERATE_ONLY, str(batch_size), str(ITERATIONS)]
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def compare(job: Job) -> dict:
    ours, without_values, bares = [], [], []
    for _ in range(REPETITIONS):
        ours.append(with_agent(job))
        without_values.append(with_agent(job, "off"))
        bares.append(bare(job))
    run, off, yardstick, built = best(ours), best(without_values), best(bares), build_only(job)
    growth = run.host_bytes - built.host_bytes
    return {
        "name": job.line,
        "seconds": round(run.seconds, 2),
        "bare_seconds": round(yardstick.seconds, 2),
        "ratio": round(run.seconds / yardstick.seconds, 3),
        "values_off_seconds": round(off.seconds, 2),
        "values_ratio": round(run.seconds / off.seconds, 3),
        "host_bytes": run.host_bytes,
        "bare_host_bytes": yardstick.host_bytes,
        "build_host_bytes": built.host_bytes,
        "host_growth_bytes": growth,
        "time_met": run.seconds <= TIME_RATIO * yardstick.seconds + TIME_EXTRA_S,
        "host_met": growth <= HOST_GROWTH_BYTES,
        "values_met": run.seconds <= VALUES_RATIO * off.seconds,
    }


def compare_batches() -> dict:
    """Time without the host's generation of the data, small batch against large."""
    small, large, small_data, large_data = [], [], [], []
    for _ in range(REPETITIONS):
        small.append(with_agent(SMALL_BATCH).seconds)
        large.append(with_agent(LARGE_BATCH).seconds)
        small_data.append(generation_seconds(BATCHES[0]))
        large_data.append(generation_seconds(BATCHES[1]))
    growth = (min(large) - min(large_data)) - (min(small) - min(small_data))
    return {
        "small": {"bs": BATCHES[0], "seconds": min(small), "data_seconds": min(small_data)},
        "large": {"bs": BATCHES[1], "seconds": min(large), "data_seconds": min(large_data)},
        "growth_seconds": round(growth, 3),
        "met": growth <= BATCH_EXTRA_S,
    }


def meets(row: dict) -> bool:
    return row["time_met"] and row["host_met"] and row["values_met"]


def show(rows: list[dict], batches: dict) -> None:
    console = Console()
    names = ["job", "run s", "bare s", "ratio", "values ratio", "host MB", "over building the model MB", "targets"]
    table = Table(*names)
    for row in rows:
        seconds = [row["seconds"], row["bare_seconds"], row["ratio"], row["values_ratio"]]
        cells = [row["name"], *seconds, row["host_bytes"] // 10**6]
        met = "met" if meets(row) else "[red]missed[/red]"
        table.add_row(*map(str, cells), str(row["host_growth_bytes"] // 10**6), met)
    console.print(table)
    small, large = batches["small"], batches["large"]
    console.print(
        f"resnet50 batch {small['bs']}: {small['seconds']:.2f} s, {small['data_seconds']:.2f} of it generating data; "
        f"batch {large['bs']}: {large['seconds']:.2f} s, {large['data_seconds']:.2f} of it generating data; "
        f"growth {batches['growth_seconds']:+.2f} s: {'met' if batches['met'] else '[red]missed[/red]'}"
    )


def main() -> int:
    rows = [compare(job) for job in JOBS]
    batches = compare_batches()
    show(rows, batches)
    RESULTS.mkdir(exist_ok=True)
    result = {"provenance": estimate_provenance(current_commit()), "jobs": rows, "batches": batches}
    (RESULTS / "speed.json").write_text(json.dumps(result, indent=2) + "\n")
    return 0 if batches["met"] and all(map(meets, rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
