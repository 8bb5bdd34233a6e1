"""The recorded jobs and how one of them is estimated: what the benchmarks and the accuracy tests share."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from record_gpu import command as listed_command

HERE = Path(__file__).resolve().parent
TRUTH = HERE / "truth"
RESULTS = HERE / "results"
JOB_SCRIPT = HERE / "jobs" / "truth_job.py"


@dataclass(frozen=True, kw_only=True)
class Job:
    """The options of `jobs/truth_job.py`, with its defaults."""

    model: str
    bs: int
    opt: str
    prec: str = "fp32"
    zg: str = "before"
    iters: int = 3
    layout: str = "contiguous"
    cudnn: str = "default"

    @property
    def name(self) -> str:
        special = [word for word in (self.layout, self.cudnn) if word not in ("contiguous", "default")]
        return " ".join([f"{self.model} bs{self.bs} {self.opt} {self.prec} {self.zg}", *special])

    @property
    def family(self) -> str:
        """`plain` has no convolution and no recurrence: nothing but PyTorch's own kernels and cuBLAS."""
        if self.model == "lstm":
            return "rnn"
        return "plain" if self.model.startswith(("gpt", "mlp", "hf:")) else "cnn"

    def command(self) -> list[str]:
        options = [word for key, value in asdict(self).items() for word in (f"--{key}", str(value))]
        return [sys.executable, str(JOB_SCRIPT), *options]

    @property
    def end(self) -> list[str]:
        """The option of `run` that says when the job is over."""
        return ["--steps", str(self.iters)]


@dataclass(frozen=True, kw_only=True)
class ListedJob:
    """A line of a job list that names its script; such scripts end by themselves after a few steps."""

    name: str

    @property
    def family(self) -> str:
        """The script's name: `transformer`, `moe`, `detection` and so on."""
        return Path(self.name.split()[0]).stem

    def command(self) -> list[str]:
        return listed_command(self.name)

    @property
    def end(self) -> list[str]:
        return ["--until-exit"]


def read_jobs(name: str, **columns: str) -> list[tuple[Job, dict[str, int]]]:
    """The jobs of a truth file, each with the numbers that `columns` renames."""
    jobs = []
    for line in (TRUTH / name).read_text().splitlines():
        row = json.loads(line)
        if "model" not in row:  # the line that says where the others come from
            continue
        job = Job(**{key: row[key] for key in Job.__dataclass_fields__ if key in row})
        jobs.append((job, {ours: row[theirs] for ours, theirs in columns.items()}))
    return jobs


def listed(which: str) -> list[tuple[ListedJob, dict[str, int]]]:
    """The jobs whose memory depends on values; one that failed on the GPU has no peaks and is left out."""
    rows = map(json.loads, (TRUTH / f"h200_peaks_{which}.jsonl").read_text().splitlines())
    return [
        (
            ListedJob(name=row["options"]),
            {"allocated_bytes": row["allocated_peak"], "reserved_bytes": row["reserved_peak"]},
        )
        for row in rows
        if "allocated_peak" in row
    ]


def peaks(which: str = "first") -> list[tuple[Job, dict[str, int]]]:
    """The peaks of one recording, see truth/README.md: "first", "script" or "unseen"."""
    name = "h200_peaks.jsonl" if which == "first" else f"h200_peaks_{which}.jsonl"
    return read_jobs(name, allocated_bytes="allocated_peak", reserved_bytes="reserved_peak")


def minima() -> list[tuple[Job, dict[str, int]]]:
    columns = {"allocated_bytes": "alloc", "reserved_bytes": "reserved", "minimum_bytes": "minimum"}
    return read_jobs("h200_minimum_capacity.jsonl", **columns)


def find_peaks(model: str, **options: str | int) -> tuple[Job, dict[str, int]]:
    """The one recorded job with these options."""
    wanted = {"model": model, **options}
    found = [(job, truth) for job, truth in peaks() if wanted.items() <= asdict(job).items()]
    if len(found) != 1:
        raise LookupError(f"{len(found)} recorded jobs have {wanted}; give more options, or fewer")
    return found[0]


def clean_environment() -> dict[str, str]:
    """Ours without the allocator settings, which the recorded jobs did not have."""
    return {key: value for key, value in os.environ.items() if not key.endswith("ALLOC_CONF")}


def run_estimate(command: list[str], *options: str) -> dict:
    """`veritasest run` of a command; its JSON."""
    with tempfile.TemporaryDirectory(prefix="veritasest-benchmark-") as folder:
        answer = Path(folder) / "estimate.json"
        words = [sys.executable, "-m", "veritasest", "run", "--quiet", *options, "--json", str(answer), "--", *command]
        done = subprocess.run(words, env=clean_environment(), capture_output=True, text=True, check=False)
        if not answer.exists():
            raise RuntimeError(
                f"no estimate (exit code {done.returncode}) from: {' '.join(words)}\n{done.stderr[-2000:]}"
            )
        return json.loads(answer.read_text())


def estimate_job(job: Job | ListedJob, *options: str) -> dict:
    return run_estimate(job.command(), "--gpu", "h200", *job.end, *options)
