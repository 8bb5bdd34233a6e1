"""`veritasest run`, on scripts that write their trace themselves (engines/scripted.py)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from veritasest.cli import main
from veritasest.cli.options import split_command
from veritasest.cli.verbs.run import make_parser

Job = Callable[[str], Path]
TRAINS = """
job.start()
job.reserve(3 << 30)
job.step(1, 3 << 30)
job.end("steps")
print("hello from the job")
"""


def test_fits_is_0_and_the_verdict_comes_first(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    assert main(["run", "--gpu", "rtx-4090", "train.py"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "hello from the job"
    assert lines[1] == "Fits on NVIDIA GeForce RTX 4090 (23.52 GiB)"
    assert "3.00 GiB" in lines[2]


def test_does_not_fit_is_3_and_names_the_line(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job("""
    job.start()
    job.reserve(min(limit, 5 << 30))
    if limit < 5 << 30:
        job.run_out_of_memory(2 << 20)
    """)
    assert main(["run", "--memory", "4GiB", "--", "python", "train.py"]) == 3
    out = capfd.readouterr().out
    assert "train.py:7" in out
    assert "> model(x)" in out
    assert "5.00 GiB" in out
    assert "veritasest run --minimum" in out


def test_a_failure_of_the_job_itself_is_1_and_keeps_the_recording(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job("sys.exit(7)")
    assert main(["run", "train.py"]) == 1
    out, err = capfd.readouterr()
    assert "The job itself failed (not a memory problem)" in out
    assert "exit code 7" in out
    kept = err.split("recording kept: ")[1].strip()
    assert main(["report", kept]) == 1
    shutil.rmtree(kept)


def test_undetermined_is_5(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job("pass")
    assert main(["run", "--quiet", "--json", "-", "train.py"]) == 5
    out, err = capfd.readouterr()
    assert json.loads(out)["undetermined"]["reason"] == "no_gpu"
    assert err == ""


def test_json_is_alone_on_standard_output(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    assert main(["run", "--json", "-", "train.py"]) == 0
    captured = capfd.readouterr()
    document = json.loads(captured.out)
    assert "hello from the job" in captured.err
    assert "Fits on NVIDIA H200" in captured.err
    assert document["gpu"]["capacity_bytes"] == 150109880320


def test_without_a_gpu_name_the_report_says_which_was_assumed(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    main(["run", "train.py"])
    assert "no --gpu given: estimated for the NVIDIA H200" in capfd.readouterr().out


def test_binary_output_of_the_job_passes_through(job: Job, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    job("sys.stdout.buffer.write(bytes(range(256))); job.start(); job.reserve(1)")
    assert main(["run", "train.py"]) == 0
    assert bytes(range(256)) in capfdbinary.readouterr().out


def test_a_saved_recording_and_json_are_written(job: Job, workspace: Path, capfd: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    assert main(["run", "--quiet", "--json", "e.json", "--save", "saved", "train.py"]) == 0
    assert "verdict" in json.loads((workspace / "e.json").read_text())
    assert (workspace / "saved" / "manifest.json").exists()
    assert (workspace / "saved" / "runs" / "01-capacity" / "trace.jsonl").exists()
    assert capfd.readouterr().err == ""


def test_an_existing_output_is_kept_unless_forced(
    job: Job, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job(TRAINS)
    (workspace / "e.json").write_text("precious")
    assert main(["run", "--json", "e.json", "train.py"]) == 2
    assert "--force" in capsys.readouterr().err
    assert (workspace / "e.json").read_text() == "precious"
    assert main(["run", "--force", "--json", "e.json", "train.py"]) == 0
    assert json.loads((workspace / "e.json").read_text())["verdict"] == "fits"


def test_an_existing_recording_is_kept_unless_forced(
    job: Job, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job(TRAINS)
    assert main(["run", "--save", "saved", "train.py"]) == 0
    before = (workspace / "saved" / "manifest.json").stat().st_ino
    assert main(["run", "--save", "saved", "train.py"]) == 2
    assert "saved is not empty" in capsys.readouterr().err
    assert (workspace / "saved" / "manifest.json").stat().st_ino == before
    assert main(["run", "--force", "--save", "saved", "train.py"]) == 0
    assert len(json.loads((workspace / "saved" / "manifest.json").read_text())["runs"]) == 1


def test_force_deletes_only_what_is_a_recording(job: Job, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    (workspace / "mine").mkdir()
    (workspace / "mine" / "precious").write_text("mine")
    assert main(["run", "--force", "--save", "mine", "train.py"]) == 2
    assert "mine is not empty" in capsys.readouterr().err
    assert (workspace / "mine" / "precious").exists()


def test_a_printed_loss_is_in_json_but_not_in_the_report(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    code = "print(f'loss {loss.item():.3f}')"
    read = f"write(Assumed(how='number', operator='item', file='train.py', line=7, code={code!r}, dtype='float32'))\n"
    job(read + TRAINS)
    assert main(["run", "--json", "-", "--steps", "1", "train.py"]) == 0
    out, err = capfd.readouterr()
    assert [(value["code"], value["matters"]) for value in json.loads(out)["assumed"]] == [(code, False)]
    assert "Fits on NVIDIA H200" in err
    assert "loss" not in err.partition("Fits on")[2]


@pytest.mark.parametrize("steps", [1, 2])
def test_few_steps_with_equal_peaks_do_not_claim_growth(
    job: Job, capfd: pytest.CaptureFixture[str], steps: int
) -> None:
    job(f"job.start(); job.reserve(5); [job.step(n, 5) for n in range(1, {steps} + 1)]; job.end('steps')")
    assert main(["run", "--steps", str(steps), "train.py"]) == 0
    out = capfd.readouterr().out
    assert "growing" not in out
    assert "too few to tell whether the peak has settled" in out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["run"], "no command"),
        (["run", "nosuch.py"], "no such script"),
        (["run", "."], "is a directory"),
        (["run", "--gpu", "rtx-4900", "train.py"], "did you mean rtx-4090"),
        (["run", "--memory", "24GB", "train.py"], "24GiB"),
        (["run", "--steps", "0", "train.py"], "at least 1"),
        (["run", "--timeout", "soon", "train.py"], "invalid float"),
        (["run", "--speed", "train.py"], "--speed"),
        (["run", "--values", "reel", "train.py"], "auto, real, real:MODULE or off"),
        (["run", "--assume", "mask", "train.py"], "must be KIND=VALUE, like mask=0.3"),
        (["run", "--assume", "mask=2", "train.py"], "mask=FRACTION (0 to 1)"),
        (["run", "--assume", "finite=maybe", "train.py"], "yes or no"),
        (["run", "--host-memory", "64GB", "train.py"], "64GiB"),
        (["run", "--host-memory", "0", "train.py"], "above zero"),
        (["run", "--json", "no/folder/e.json", "train.py"], "mkdir -p no/folder"),
        (["run", "--json", ".", "train.py"], "is a directory"),
        (["train.py"], "veritasest run train.py"),
        ([], "usage"),
    ],
)
def test_wrong_usage_is_2_and_says_what_to_type(
    job: Job, argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job(TRAINS)
    assert main(argv) == 2
    assert message in capsys.readouterr().err


def test_real_values_are_announced_with_their_cost(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    assert main(["run", "--values", "real", "train.py"]) == 0
    assert "real values: every operator also runs on the CPU" in capfd.readouterr().err


@pytest.mark.usefixtures("emulated_engine")
def test_a_cpu_build_is_4_also_in_json(job: Job, workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    version = workspace.parent / "fake/torch/version.py"
    version.write_text("__version__ = '2.11.0+cpu'\ncuda: Optional[str] = None\n")
    assert main(["run", "--json", "e.json", "train.py"]) == 4
    assert "pip install torch==2.11.0" in capsys.readouterr().err
    found = json.loads((workspace / "e.json").read_text())
    assert (found["verdict"], found["failure"]["kind"]) == ("unsupported", "environment")
    assert "pip install torch==2.11.0" in found["failure"]["hint"]


@pytest.mark.usefixtures("emulated_engine")
def test_an_untested_torch_is_a_warning_and_the_run_continues(
    job: Job, workspace: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    job(TRAINS)
    version = workspace.parent / "fake/torch/version.py"
    version.write_text(version.read_text().replace("2.11.0", "2.99.0"))
    assert main(["run", "train.py"]) == 0
    assert "torch 2.99.0+cu130 has not been tested with VeritasEst (tested: 2.11); continuing" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("argv", "options", "command"),
    [
        (["--gpu", "t4", "train.py", "--gpu", "x"], ["--gpu", "t4"], ["train.py", "--gpu", "x"]),
        (["--gpu=t4", "--minimum", "--", "-x"], ["--gpu=t4", "--minimum"], ["-x"]),
        (["--steps", "3", "-m", "pkg.mod", "--steps", "9"], ["--steps", "3"], ["-m", "pkg.mod", "--steps", "9"]),
        (["--memory", "1GiB"], ["--memory", "1GiB"], []),
    ],
)
def test_options_end_where_the_command_begins(argv: list[str], options: list[str], command: list[str]) -> None:
    assert split_command(make_parser(), argv) == (options, command)


def test_ctrl_c_ends_the_children_and_keeps_a_recording_that_can_be_reported(
    job: Job, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job("""
    job.start()
    job.reserve(5)
    open("pid", "w").write(str(os.getpid()))
    time.sleep(60)
    """)
    running = subprocess.Popen(
        [sys.executable, "-m", "veritasest", "run", "--save", "saved", "train.py"],
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    deadline = time.monotonic() + 20
    while not (workspace / "pid").exists() or not (workspace / "pid").read_text():
        assert time.monotonic() < deadline, "the job did not start"
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=20)
    assert running.returncode == 130
    assert "the recording so far" in err
    assert str(workspace / "saved") in err
    assert not Path(f"/proc/{(workspace / 'pid').read_text()}").exists()
    assert main(["report", "saved", "--quiet", "--json", "-"]) == 5
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], found["undetermined"]["reason"]) == ("undetermined", "interrupted")
    assert found["ranks"][0]["peak"]["reserved_bytes"] == 5
