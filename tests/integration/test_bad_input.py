"""Bad input gets a clear message and the right exit code: 1 the job's own fault, 2 wrong usage, 4 unsupported."""

import json
import sys
import sysconfig
import venv
from pathlib import Path

from .conftest import TRAIN_FOREVER, call


def usage_error(cwd, *words):
    done = call("run", *words, cwd=cwd)
    assert done.returncode == 2, done
    return " ".join(done.stderr.decode().split())


def test_a_script_that_does_not_exist_is_named(tmp_path):
    assert "no_such_script.py" in usage_error(tmp_path, "no_such_script.py")
    assert "no_such_script.py" in usage_error(tmp_path, "--", "python", "no_such_script.py")


def test_a_directory_is_not_a_script(tmp_path):
    (tmp_path / "folder.py").mkdir()
    assert "directory" in usage_error(tmp_path, "folder.py")


def test_an_unknown_gpu_gets_near_names_suggested(tmp_path, script):
    message = usage_error(tmp_path, "--gpu", "rtx-4900", str(script("")))
    assert "rtx-4900" in message
    assert "rtx-4090" in message


def test_decimal_units_are_refused_with_the_binary_one_named(tmp_path, script):
    assert "24GiB" in usage_error(tmp_path, "--memory", "24GB", str(script(""))).replace("24 GiB", "24GiB")


def test_zero_steps_are_refused(tmp_path, script):
    assert "--steps" in usage_error(tmp_path, "--steps", "0", str(script("")))


def test_an_output_path_in_a_missing_folder_is_refused_before_the_job_runs(tmp_path, script):
    job = script("open('started', 'w')")
    assert "nowhere" in usage_error(tmp_path, "--allow-writes", "--json", "nowhere/estimate.json", str(job))
    assert not (tmp_path / "started").exists()


def test_an_unwritable_output_path_is_refused_before_the_job_runs(tmp_path, script):
    job = script("open('started', 'w')")
    # Where not even root may write.
    assert "/proc" in usage_error(tmp_path, "--allow-writes", "--json", "/proc/estimate.json", str(job))
    assert not (tmp_path / "started").exists()


def test_an_existing_output_file_is_kept_unless_forced(tmp_path, script):
    answer = tmp_path / "mine.json"
    answer.write_text("precious")
    job = script("import torch; torch.empty(1, device='cuda')")
    assert "--force" in usage_error(tmp_path, "--json", str(answer), str(job))
    assert answer.read_text() == "precious"
    assert call("run", "--json", str(answer), "--force", "--", sys.executable, str(job), cwd=tmp_path).returncode == 0
    assert json.loads(answer.read_text())["verdict"] == "fits"


def test_a_script_that_raises_shows_its_own_traceback(estimate):
    run = estimate("import torch\ntorch.empty(1, device='cuda')\nraise ValueError('a fault of its own')\n")
    assert run.code == 1
    assert run.estimate["verdict"] == "job_failed"
    assert "Traceback (most recent call last)" in run.stderr
    assert "line 3" in run.stderr
    assert "ValueError: a fault of its own" in run.stderr
    frames = run.stderr.split("Traceback")[1].split("ValueError")[0]
    assert "veritasest" not in frames, "none of our own frames in their traceback"


def test_a_script_that_exits_with_a_code_is_a_failed_job_and_the_code_is_reported(estimate):
    run = estimate("import sys\nsys.exit(7)\n")
    assert run.code == 1
    assert run.estimate["verdict"] == "job_failed"
    assert run.estimate["failure"]["exit_code"] == 7
    assert "7" in run.estimate["failure"]["message"]


def test_a_script_that_is_killed_is_a_failed_job_and_the_signal_is_reported(estimate):
    run = estimate("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert run.code == 1
    assert run.estimate["verdict"] == "job_failed"
    assert "SIGKILL" in run.estimate["failure"]["message"]


def test_binary_output_of_the_script_passes_through_unchanged(estimate):
    run = estimate("import sys, torch\ntorch.empty(1, device='cuda')\nsys.stdout.buffer.write(bytes(range(256)))\n")
    assert run.code == 0, run.text
    assert bytes(range(256)) in run.stdout


def test_a_script_that_never_trains_runs_to_its_end(estimate):
    job = """
        import torch
        model = torch.nn.Linear(1024, 1024).cuda().eval()
        with torch.inference_mode():
            for _ in range(10):
                model(torch.randn(8, 1024).cuda())
        print("reached the end")
    """
    run = estimate(job)
    assert run.code == 0, run.text
    assert run.estimate["verdict"] == "fits"
    assert run.estimate["steps"] == 0
    assert b"reached the end" in run.stdout
    assert run.peak["allocated_bytes"] >= 4 * (1024 * 1024 + 1024)  # weight and bias, fp32


def test_a_script_that_never_uses_the_gpu_says_so(estimate):
    run = estimate("print('hello')")
    assert run.code == 5, run.text
    assert "never used the GPU" in run.estimate["undetermined"]["message"]


def test_a_script_that_forks_is_estimated(estimate):
    fork = """
import os
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""
    run = estimate(fork + TRAIN_FOREVER + fork + "train()\n")
    assert run.code == 0, run.text
    assert run.estimate["verdict"] == "fits"
    assert run.estimate["steps"] >= 3


def test_cpu_only_torch_is_unsupported_and_the_remedy_is_given(tmp_path, script):
    # A real CPU-only torch is 200 MB from another index. What distinguishes it is read without importing it: version.py
    # says `cuda = None`, and there is no libtorch_cuda.so. A venv with just that stands in for it.
    venv.create(tmp_path / "cpu", with_pip=False)
    python = tmp_path / "cpu" / "bin" / "python"
    names = {"base": str(tmp_path / "cpu"), "platbase": str(tmp_path / "cpu")}
    torch = Path(sysconfig.get_path("purelib", "venv", vars=names)) / "torch"
    (torch / "lib").mkdir(parents=True)
    (torch / "__init__.py").write_text("from torch.version import __version__\n")
    (torch / "version.py").write_text("__version__ = '2.11.0+cpu'\ndebug = False\ncuda = None\nhip = None\n")
    done = call("run", "--", str(python), str(script("import torch")), cwd=tmp_path)
    message = done.stderr.decode()
    assert done.returncode == 4, message
    assert "2.11.0+cpu" in message
    assert "pip install" in message


def test_an_untested_torch_version_is_warned_about_and_estimated(estimate, tmp_path):
    # The real torch under another version: a folder of links to it, with a version.py of its own in front of it.
    import torch

    real = Path(torch.__file__).parent
    overlay = tmp_path / "overlay" / "torch"
    overlay.mkdir(parents=True)
    for entry in real.iterdir():
        (overlay / entry.name).symlink_to(entry)
    (overlay.parent / "nvidia").symlink_to(real.parent / "nvidia")
    (overlay / "version.py").unlink()
    (overlay / "version.py").write_text((real / "version.py").read_text().replace(torch.__version__, "2.99.0+cu130"))
    run = estimate(TRAIN_FOREVER + "train()\n", PYTHONPATH=str(overlay.parent))
    assert run.code == 0, run.text
    assert any("2.99.0" in warning for warning in run.estimate["warnings"])
    assert run.estimate["provenance"]["torch"] == "2.99.0+cu130"
