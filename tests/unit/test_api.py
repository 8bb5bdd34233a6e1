"""The Python API, on scripts that write their trace themselves (engines/scripted.py)."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import veritasest
from veritasest.errors import TraceError, UsageError

Job = Callable[[str], Path]
GIB = 1 << 30

TRAINS = """
job.start()
job.reserve(3 << 30)
for number in (1, 2, 3):
    job.step(number, 3 << 30)
job.end("settled")
"""


def test_a_job_that_fits(job: Job) -> None:
    job(TRAINS)
    found = veritasest.estimate(["train.py"], gpu="rtx-4090")
    assert (found.verdict, found.steps, found.settled) == ("fits", 3, True)
    assert found.peak.reserved_bytes == found.needs.unconstrained_bytes == 3 * GIB
    assert (len(found.runs), found.recording, found.provenance.torch) == (1, None, "2.11.0+cu130")
    assert found.provenance.engine == "scripted"


def test_library_overhead_is_not_available_to_the_job(job: Job) -> None:
    job("write(Library(library='cublas', device=0, bytes=1 << 26, libraries_bytes=1 << 26))\n" + TRAINS)
    found = veritasest.estimate(["train.py"], gpu="h200", memory="4GiB")
    outside = (527 + 64) << 20
    assert (found.worst.library_overhead_bytes, found.worst.available_bytes) == (64 << 20, 4 * GIB - outside)
    assert found.needs.process_bytes == 3 * GIB + outside
    assert not [warning for warning in found.warnings if "close to the limit" in warning]  # this context was measured


def test_what_was_not_measured_is_mentioned_where_the_verdict_depends_on_it(job: Job) -> None:
    job(TRAINS)
    near, far = (veritasest.estimate(["train.py"], gpu="rtx-4090", memory=size) for size in ("3.5GiB", "8GiB"))
    said = "close to the limit: CUDA context and library memory on an NVIDIA GeForce RTX 4090 are assumed, not measured"
    assert [said in found.warnings for found in (near, far)] == [True, False]


@pytest.mark.parametrize(
    ("process_mib", "within"),
    [
        (14912, False),  # the least that was reported is 14,912.7 MiB: it fits with every driver
        (14950, True),
        (15109, True),
        (15200, False),  # fits with none
    ],
)
def test_a_requirement_that_fits_with_some_drivers_only_has_a_warning(job: Job, process_mib: int, within: bool) -> None:
    needed = (process_mib - 110) << 20  # the CUDA context of a T4 is 110 MiB
    job(f"""
    job.start()
    job.reserve({needed})
    if limit < {needed}:
        job.run_out_of_memory(2 << 20)
    job.step(1, {needed})
    job.end("exit")
    """)
    found = veritasest.estimate(["train.py"], gpu="t4")
    said = [warning for warning in found.warnings if "close to the limit: reported totals" in warning]
    assert bool(said) == within
    if within:
        expected = "close to the limit: reported totals of the Tesla T4 range from 14.56 GiB to 14.75 GiB"
        assert said == [f"{expected} depending on the driver"]


def test_settings_reach_the_job_in_one_document(job: Job, workspace: Path) -> None:
    job("""
    job.start()
    job.reserve(1)
    print(repr((job.run.values, job.run.stop, job.run.timeout_s, job.run.gpu.id)), file=open("settings", "w"))
    """)
    veritasest.estimate(
        ["train.py"],
        gpu="t4",
        values="real:head",
        assume={"mask": 0.3, "finite": False},
        host_memory="1GiB",
        budget_s=2.5,
        timeout_s=60,
    )
    values = f"ValuePolicy(mode='real:head', mask=0.3, scalar=None, finite=False, host_bytes={GIB})"
    stop = "StopRule(steps=None, until_exit=False, budget_s=2.5, forward_from=None, leave_from=None)"
    assert (workspace / "settings").read_text() == f"({values}, {stop}, 60, 't4')\n"


def test_a_failed_job_keeps_its_recording(job: Job) -> None:
    job("sys.exit(7)")
    found = veritasest.estimate(["train.py"])
    assert found.failure is not None
    assert found.recording is not None
    assert (found.verdict, found.failure.exit_code) == ("job_failed", 7)
    assert veritasest.estimate_recording(found.recording) == found
    shutil.rmtree(found.recording)


def test_a_recording_that_was_not_asked_for_leaves_no_files(job: Job, tmp_path: Path) -> None:
    job(TRAINS)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    _make_program(Path("broken"), "#!/no/such/interpreter\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(temporary))
        assert veritasest.estimate(["train.py"]).verdict == "fits"
        with pytest.raises(UsageError, match="cannot run"):
            veritasest.estimate(["./broken"])
    assert list(temporary.iterdir()) == []


def test_a_timeout_ends_the_job_and_all_it_started(job: Job, workspace: Path) -> None:
    job("""
    import subprocess
    job.start()
    job.reserve(5)
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    open("pid", "w").write(str(child.pid))
    time.sleep(60)
    """)
    found = veritasest.estimate(["train.py"], timeout_s=1.5)
    assert found.undetermined is not None
    assert (found.verdict, found.settled, found.undetermined.reason) == ("undetermined", False, "timeout")
    assert not _is_running(int((workspace / "pid").read_text()))
    shutil.rmtree(found.recording or "")


def test_workers_that_outlive_the_job_are_ended(job: Job, workspace: Path) -> None:
    job("""
    import subprocess
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    open("pid", "w").write(str(child.pid))
    job.start()
    job.reserve(5)
    """)
    veritasest.estimate(["train.py"])
    assert not _is_running(int((workspace / "pid").read_text()))


def test_two_estimates_at_the_same_time_do_not_disturb_each_other(job: Job) -> None:
    job("job.start(); job.reserve(int(sys.argv[1])); job.end('exit'); time.sleep(0.5)")
    found: dict[int, int] = {}

    def run(size: int) -> None:
        found[size] = veritasest.estimate(["train.py", str(size)]).peak.reserved_bytes

    threads = [threading.Thread(target=run, args=(size,)) for size in (111, 222)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {111: 111, 222: 222}


def test_progress_is_reported(job: Job) -> None:
    job("job.start(); job.reserve(5); job.step(1, 5); time.sleep(0.5)")
    seen: list[tuple[int, int]] = []
    veritasest.estimate(["train.py"], on_progress=lambda progress: seen.append((progress.step, progress.peak_bytes)))
    assert seen[-1] == (1, 5)


def test_the_environment_and_the_folder_can_be_given(job: Job, tmp_path: Path) -> None:
    script = job("job.start(); job.reserve(int(os.environ['SIZE'])); job.end('exit')")
    found = veritasest.estimate([str(script)], cwd=tmp_path, env={**os.environ, "SIZE": "77"})
    assert found.peak.reserved_bytes == 77


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"steps": 0}, "at least 1"),
        ({"steps": 1, "until_exit": True}, "exclude"),
        ({"timeout_s": 0}, "above zero"),
        ({"budget_s": -1}, "must not be below zero"),
        ({"memory": "24GB"}, "GiB"),
        ({"gpu": "voodoo"}, "unknown GPU"),
        ({"values": "reel"}, "no such value mode"),
        ({"assume": {"mask": 2}}, "cannot assume mask=2"),
        ({"values": "real", "host_memory": "64GB"}, "64GB"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, object], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        veritasest.estimate(["true"], **options)  # type: ignore[arg-type]


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'stepz'"):
        veritasest.estimate(["true"], stepz=3)  # type: ignore[call-arg]


def test_a_command_as_one_string_is_refused() -> None:
    with pytest.raises(UsageError, match="one string"):
        veritasest.estimate("python train.py")


def test_a_folder_with_files_in_it_is_not_written_to(job: Job, workspace: Path) -> None:
    job(TRAINS)
    (workspace / "saved").mkdir()
    (workspace / "saved" / "precious").write_text("mine")
    with pytest.raises(UsageError, match="saved is not empty"):
        veritasest.estimate(["train.py"], save="saved")
    assert [path.name for path in (workspace / "saved").iterdir()] == ["precious"]


def test_a_folder_that_is_not_a_recording_cannot_be_reported(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="is not a recording"):
        veritasest.estimate_recording(tmp_path)


def _make_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
