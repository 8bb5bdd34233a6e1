"""Runs other memory estimators on the same jobs, each in its own environment, and writes results/rivals.jsonl.gz.

    python -m benchmarks.rivals.run [--only NAME] [--jobs N]

An interrupted run continues: what was answered is not asked again. One process at a time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import queue
import resource
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks import job_lists
from benchmarks.json_lines import add, rows, write_compressed
from benchmarks.published_estimates import RESULTS
from benchmarks.truth_files import ROOT

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = ROOT / "build" / "rivals"
ANSWERS = RESULTS / "rivals.jsonl"
LISTS = ["papers_cnn", "papers_transformer", "vision", "language"]
HOST_MEMORY_BYTES = 5 * 2**30


@dataclass(frozen=True, kw_only=True)
class Rival:
    requirements: str | None  # the stem of a .txt here; None: the project's own environment
    slow: bool = False  # more than ten seconds per job: run on every fourth job of the sample


RIVALS = {
    "torch-preflight": Rival(requirements="torch-preflight"),
    "torch-preflight-guard": Rival(requirements="torch-preflight"),
    "torch-kitsune": Rival(requirements="torch-kitsune"),
    "torchinfo-plus": Rival(requirements="torchinfo"),
    "accelerate-estimate": Rival(requirements="accelerate"),
    "deepspeed-zero2": Rival(requirements="deepspeed"),
    "deepspeed-zero3": Rival(requirements="deepspeed"),
    "vram-check": Rival(requirements="vram-check"),
    "gpu-estimator": Rival(requirements="gpu-estimator"),
    "fakegpu-static": Rival(requirements="fakegpu", slow=True),
    "mem-tracker": Rival(requirements=None, slow=True),
    "portable": Rival(requirements=None, slow=True),  # the papers' method as another engine: not there yet
}


def environment(requirements: str | None) -> Path:
    """Its Python. The environment also sees the project's packages, after its own, so it needs no second torch."""
    if requirements is None:
        return Path(sys.executable)
    folder, wanted = ENVIRONMENTS / requirements, HERE / f"{requirements}.txt"
    python, stamp = folder / "bin" / "python", folder / "installed"
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python3.*/site-packages")
    (site / "project.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--requirement", wanted]
    subprocess.run(pip, check=True)
    stamp.write_text(digest)
    return python


def sample(name: str, number: int | None) -> list[str]:
    """Evenly spaced lines of a list. The sample of half the number is part of it."""
    lines = [job.line for job in job_lists.read([name])]
    number = min(number or len(lines), len(lines))
    return [lines[i * len(lines) // number] for i in range(number)]


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (HOST_MEMORY_BYTES, HOST_MEMORY_BYTES))


def start(name: str, lines: list[str]) -> tuple[subprocess.Popen, queue.Queue]:
    """A rival's process, and the queue of the lines it prints; None when it has ended."""
    command = [environment(RIVALS[name].requirements), HERE / f"{name}.py", *lines]
    log = (ENVIRONMENTS / f"{name}.log").open("ab")
    quiet = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore", "PYTHONPATH": str(job_lists.JOBS)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=log, env=quiet, text=True, preexec_fn=limit_memory
    )
    printed: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in process.stdout:
            printed.put(line)
        printed.put(None)

    threading.Thread(target=read, daemon=True).start()
    return process, printed


def next_row(process: subprocess.Popen, printed: queue.Queue, seconds: float) -> dict | str:
    """Its answer for the next job, or why there is none. Other lines are the rival's own output."""
    while True:
        try:
            line = printed.get(timeout=seconds)
        except queue.Empty:
            process.kill()
            return f"no answer within {seconds:.0f} s"
        if line is None:
            return f"its process ended with {process.wait()}"
        if line.startswith('{"job": '):
            return json.loads(line)


def ask(name: str, lines: list[str], seconds: float) -> Iterator[dict]:
    """One row per line. A job at which the rival crashes or hangs has no estimate; the next ones continue."""
    while lines:
        process, printed = start(name, lines)
        try:
            while lines:
                row = next_row(process, printed, seconds)
                if isinstance(row, str):
                    nothing = {"version": None, "estimate_bytes": None, "why": row, "seconds": None}
                    yield {"rival": name, "job": lines.pop(0), **nothing}
                    break
                yield {"rival": name, **row}
                lines.remove(row["job"])
        finally:
            process.kill()
            process.wait()


class Answers:
    """The rows of results/rivals.jsonl, by rival and job."""

    def __init__(self, path: Path, forgotten: set[str]) -> None:
        self.path = path
        self.rows = {(row["rival"], row["job"]): row for row in rows(path) if row["rival"] not in forgotten}
        self.write()

    def add(self, row: dict) -> None:
        self.rows[row["rival"], row["job"]] = row
        add(self.path, row)

    def write(self) -> None:
        """In the order of the table above and of the lists."""
        order = {line: i for i, line in enumerate(line for name in LISTS for line in sample(name, None))}
        rivals = list(RIVALS)
        keys = sorted(self.rows, key=lambda key: (rivals.index(key[0]), order.get(key[1], len(order))))
        write_compressed(self.path, (self.rows[key] for key in keys))


def questions(args: argparse.Namespace, answers: Answers) -> dict[str, list[str]]:
    found = {}
    for name, rival in RIVALS.items():
        if args.only in (None, name) and (HERE / f"{name}.py").exists():
            number = max(1, args.jobs // 4) if rival.slow else args.jobs
            lines = [line for family in args.lists for line in sample(family, number)]
            found[name] = [line for line in lines if (name, line) not in answers.rows]
    return found


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=RIVALS, help="run this one only")
    parser.add_argument("--jobs", type=int, default=16, metavar="N", help="jobs of each list (default: %(default)s)")
    parser.add_argument("--lists", nargs="+", choices=LISTS, default=LISTS)
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="for one job of one rival")
    parser.add_argument("--fresh", action="store_true", help="discard earlier answers")
    return parser.parse_args()


def main() -> int:
    args = options()
    answers = Answers(ANSWERS, forgotten=set([args.only] if args.only else RIVALS) if args.fresh else set())
    asked = questions(args, answers)
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    columns = [TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=sum(map(len, asked.values())))
        for name, lines in asked.items():
            progress.update(task, description=name)
            for row in ask(name, list(lines), args.timeout):
                answers.add(row)
                progress.advance(task)
    answers.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
