"""One estimate of one job, as a user would run it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.job_lists import Job


def run_estimate(job: Job, *options: str, gpu: str = "h200", until_exit: bool = True) -> dict:
    """The JSON of `veritasest run`, with the job run to its own end or with the default options."""
    with tempfile.TemporaryDirectory(prefix="veritasest-benchmark-") as folder:
        answer = Path(folder) / "estimate.json"
        tool = [sys.executable, "-m", "veritasest", "run", "--quiet", "--gpu", gpu]
        tool += ["--until-exit"] if until_exit else []
        words = [*tool, *options, "--json", str(answer), "--", *job.command()]
        done = subprocess.run(words, env=job.environment(), capture_output=True, text=True, check=False)
        if not answer.exists():
            output = done.stderr[-2000:]
            raise RuntimeError(f"no estimate (exit code {done.returncode}) from: {' '.join(words)}\n{output}")
        return json.loads(answer.read_text())
