from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from veritasest import __version__
from veritasest.cli import main
from veritasest.cli.run import _parser, _split

Job = Callable[[str], Path]
TRAINS = "process(); take(1, 3 << 30); step(1, 3 << 30); end('steps'); print('hello from the job')"


def test_fits_is_0_and_the_verdict_stands_first(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    assert main(["run", "--gpu", "rtx-4090", "train.py"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == "hello from the job"
    assert lines[1] == "Fits on an NVIDIA GeForce RTX 4090 (23.52 GiB)"
    assert "3.00 GiB" in lines[2]


def test_does_not_fit_is_3_and_names_the_line(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job("process(); take(1, 5 << 30)\nif limit < 5 << 30: oom(2 << 20)\n")
    assert main(["run", "--memory", "4GiB", "--", "python", "train.py"]) == 3
    out = capfd.readouterr().out
    assert "train.py:7" in out
    assert "> model(x)" in out
    assert "5.00 GiB" in out
    assert "veritasest run --minimum" in out


def test_the_jobs_own_failure_is_1(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job("sys.exit(7)")
    assert main(["run", "train.py"]) == 1
    out = capfd.readouterr().out
    assert "exit code 7" in out
    Path(out.split("trace kept: ")[1].split()[0]).unlink()


def test_json_stands_alone_on_standard_output(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    assert main(["run", "--json", "-", "train.py"]) == 0
    captured = capfd.readouterr()
    document = json.loads(captured.out)
    assert "hello from the job" in captured.err
    assert document["schema_version"] == 1
    assert document["gpu"]["capacity_bytes"] == 150109880320
    assert set(document) == {
        *("schema_version", "verdict", "gpu", "peak", "needs", "steps", "settled", "elapsed_s", "failure"),
        *("observed", "not_reached", "undetermined", "not_modelled", "assumed", "warnings", "composition"),
        *("provenance", "runs", "trace_path", "files"),
    }


def test_without_a_gpu_name_the_report_says_which_was_taken(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    main(["run", "train.py"])
    assert "no --gpu given: estimated for h200" in capfd.readouterr().out


def test_binary_output_of_the_job_does_no_harm(job: Job, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    job("sys.stdout.buffer.write(bytes(range(256))); process(); take(1, 1)")
    assert main(["run", "train.py"]) == 0
    assert bytes(range(256)) in capfdbinary.readouterr().out


def test_json_and_trace_files_are_written(job: Job, bench: Path) -> None:
    job(TRAINS)
    assert main(["run", "--quiet", "--json", "e.json", "--trace", "t.vest", "train.py"]) == 0
    assert json.loads((bench / "e.json").read_text())["trace_path"] == str(bench / "t.vest")
    assert (bench / "t.vest").exists()


def test_an_existing_output_is_kept_unless_forced(job: Job, bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    (bench / "e.json").write_text("precious")
    assert main(["run", "--json", "e.json", "train.py"]) == 2
    assert "--force" in capsys.readouterr().err
    assert (bench / "e.json").read_text() == "precious"
    assert main(["run", "--force", "--json", "e.json", "train.py"]) == 0
    assert json.loads((bench / "e.json").read_text())["verdict"] == "fits"


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
        (["run", "--assume", "mask=2", "train.py"], "mask=SHARE (0 to 1)"),
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


def test_the_report_names_each_line_that_was_told_assumed_values(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    read = "trace.write('assumed', how='{}', operator='item', file='train.py', line={}, code='x.item()', value=0.5)\n"
    more = TRAINS.replace("3 << 30", "(4 if os.environ.get('VERITASEST_CHOICES') == 'all' else 3) << 30")
    job("".join(read.format("number", line) for line in range(10)) + read.format("size", 77) + more)
    assert main(["run", "--steps", "1", "train.py"]) == 0
    lines = [line for line in capfd.readouterr().out.splitlines() if "assumed" in line or "--values" in line]
    assert "train.py:77, sizes counted from unknown values, told 0.5 > x.item()" in lines[0]
    assert "3 more lines" in lines[8]  # eight of the eleven were shown
    assert "hangs a need between 3.00 GiB (least chosen) and 4.00 GiB" in lines[9]
    assert "veritasest run --values real --gpu h200 -- " in lines[10]


def test_real_values_are_announced_with_their_price(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    assert main(["run", "--values", "real", "train.py"]) == 0
    assert "real values: operators also run on the CPU" in capfd.readouterr().err


def test_a_cpu_build_is_4_also_in_json(bench: Path, job: Job, capsys: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    version = bench.parent / "fake/torch/version.py"
    version.write_text("__version__ = '2.11.0+cpu'\ncuda: Optional[str] = None\n")
    assert main(["run", "--json", "e.json", "train.py"]) == 4
    assert "pip install torch==2.11.0" in capsys.readouterr().err
    assert json.loads((bench / "e.json").read_text())["verdict"] == "unsupported"


def test_an_untested_torch_is_warned_of_and_goes_on(bench: Path, job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job(TRAINS)
    version = bench.parent / "fake/torch/version.py"
    version.write_text(version.read_text().replace("2.11.0", "2.99.0"))
    assert main(["run", "train.py"]) == 0
    assert "torch 2.99.0+cu130 has not been tested" in capfd.readouterr().out


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
    assert _split(_parser(), argv) == (options, command)


def test_the_flags_of_run_are_frozen() -> None:
    flags = {name for action in _parser()._actions for name in action.option_strings}
    assert flags == {
        *("-h", "--help", "--gpu", "--memory", "--steps", "--until-exit", "--timeout", "--budget"),
        *(
            "--minimum",
            "--values",
            "--assume",
            "--host-memory",
            "--allow-writes",
            "--json",
            "--trace",
            "--force",
            "--quiet",
        ),
    }


def test_ctrl_c_ends_the_children_and_keeps_the_trace(job: Job, bench: Path) -> None:
    job("process(); take(1, 5); open('pid', 'w').write(str(os.getpid())); time.sleep(60)")
    running = subprocess.Popen(
        [sys.executable, "-m", "veritasest", "run", "--trace", "t.vest", "train.py"],
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    deadline = time.monotonic() + 20
    while not (bench / "pid").exists() or not (bench / "pid").read_text():
        assert time.monotonic() < deadline, "the job did not start"
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=20)
    assert running.returncode == 130
    assert "t.vest" in err
    assert '"reason":"interrupted"' in (bench / "t.vest").read_text()
    assert not Path(f"/proc/{(bench / 'pid').read_text()}").exists()


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"veritasest {__version__}\n"


@pytest.mark.parametrize("verb", ["run", "gpus", "doctor"])
def test_help_is_the_docstring(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    module = sys.modules[f"veritasest.cli.{verb}"]
    assert module.__doc__ is not None
    assert module.__doc__.splitlines()[0] in capsys.readouterr().out


def test_the_catalogue_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpus"]) == 0
    assert "rtx-4090" in capsys.readouterr().out
    assert main(["gpus", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == "t4"


def test_doctor_without_libraries_is_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VERITASEST_LIB", str(tmp_path))
    assert main(["doctor"]) == 4
    assert "not part of this installation" in capsys.readouterr().out
