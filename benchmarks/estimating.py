"""How the benchmarks and the accuracy tests have one job estimated."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from joblists import Job


def run_estimate(job: Job, *options: str, gpu: str = "h200", until_exit: bool = True) -> dict:
    """`veritasest run` of a job to its own end, or with the default options; its JSON."""
    with tempfile.TemporaryDirectory(prefix="veritasest-benchmark-") as folder:
        answer = Path(folder) / "estimate.json"
        tool = [sys.executable, "-m", "veritasest", "run", "--quiet", "--gpu", gpu]
        tool += ["--until-exit"] if until_exit else []
        words = [*tool, *options, "--json", str(answer), "--", *job.command()]
        done = subprocess.run(words, env=job.environment(), capture_output=True, text=True, check=False)
        if not answer.exists():
            said = done.stderr[-2000:]
            raise RuntimeError(f"no estimate (exit code {done.returncode}) from: {' '.join(words)}\n{said}")
        return json.loads(answer.read_text())
