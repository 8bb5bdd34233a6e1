"""The whole front end, on scripts that play the device and the agent (see conftest.py)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import veritasest
from veritasest.errors import UsageError

Job = Callable[[str], Path]
GIB = 1 << 30

TRAINS = "process(); take(1, 3 << 30); step(1, 3 << 30); step(2, 3 << 30); step(3, 3 << 30); end('settled')"
NEEDS_20_GIB = (
    "process(); take(1, min(limit, 20 << 30)); limit < 20 << 30 and oom(2 << 20); step(1, 16 << 30); end('steps')"
)


def test_the_exported_names_are_all_there() -> None:
    assert all(getattr(veritasest, name) for name in veritasest.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        veritasest.nothing  # noqa: B018


def test_a_job_that_fits(job: Job) -> None:
    job(TRAINS)
    found = veritasest.estimate(["train.py"], gpu="rtx-4090")
    assert (found.verdict, found.steps, found.settled) == ("fits", 3, True)
    assert found.peak.reserved_bytes == found.needs.comfortable_bytes == 3 * GIB
    assert (len(found.runs), found.trace_path, found.provenance.torch) == (1, None, "2.11.0+cu130")


def test_what_libraries_take_is_not_there_for_the_job(job: Job) -> None:
    job("trace.write('library', library='cublas', device=0, bytes=1 << 26, libraries_bytes=1 << 26)\n" + TRAINS)
    found = veritasest.estimate(["train.py"], gpu="h200", memory="4GiB")
    outside = (527 + 64) << 20
    assert (found.gpu.libraries_bytes, found.gpu.available_bytes) == (64 << 20, 4 * GIB - outside)
    assert found.needs.process_bytes == 3 * GIB + outside
    assert not [warning for warning in found.warnings if "close call" in warning]  # this context was measured


def test_what_was_not_measured_is_said_where_the_verdict_hangs_on_it(job: Job) -> None:
    job(TRAINS)
    close, far = (veritasest.estimate(["train.py"], gpu="rtx-4090", memory=size) for size in ("3.5GiB", "8GiB"))
    assert [any("close call" in warning for warning in found.warnings) for found in (close, far)] == [True, False]


@pytest.mark.parametrize(
    ("process_mib", "within"),
    [
        (14912, False),  # the least that was reported is 14,912.7 MiB: it fits with every driver
        (14950, True),
        (15109, True),
        (15200, False),  # fits with none
    ],
)
def test_a_need_that_fits_with_some_drivers_only_is_said_to(job: Job, process_mib: int, within: bool) -> None:
    needed = (process_mib - 110) << 20  # the context of a T4 takes 110 MiB
    job(f"process(); take(1, {needed})\nif limit < {needed}: oom(2 << 20)\nstep(1, {needed}); end('exit')\n")
    found = veritasest.estimate(["train.py"], gpu="t4")
    told = [warning for warning in found.warnings if "close to the limit" in warning]
    assert bool(told) == within
    if within:
        expected = "close to the limit: reported totals of the Tesla T4 range from 14.56 GiB to 14.75 GiB"
        assert told == [f"{expected} depending on the driver"]


def test_a_job_that_does_not_fit_is_run_again_without_limit(job: Job) -> None:
    job(NEEDS_20_GIB)
    found = veritasest.estimate(["train.py"], memory="8GiB")
    assert (found.verdict, found.needs.comfortable_bytes) == ("does_not_fit", 20 * GIB)
    assert found.failure is not None
    assert (found.failure.file, found.failure.line, found.failure.requested_bytes) == ("train.py", 7, 2 << 20)
    assert [run.limit_bytes for run in found.runs] == [8 * GIB - (527 << 20), None]


def test_the_minimum_is_bisected_between_the_peaks_of_the_free_run(job: Job) -> None:
    job(NEEDS_20_GIB.replace("limit < 20 << 30", "limit < 18 << 30"))
    found = veritasest.estimate(["train.py"], gpu="h200", minimum=True)
    assert found.needs.minimum_bytes is not None
    assert 18 * GIB <= found.needs.minimum_bytes <= 18 * GIB * 1.0025
    assert len(found.runs) <= 1 + 8


def test_the_job_is_heard_once_however_often_it_runs(job: Job, capfd: pytest.CaptureFixture[str]) -> None:
    job("print('hello', flush=True); " + NEEDS_20_GIB)
    assert len(veritasest.estimate(["train.py"], memory="8GiB", minimum=True).runs) > 2
    assert capfd.readouterr().out == "hello\n"


def test_pressure_alone_also_asks_for_the_free_run(job: Job) -> None:
    refused = "trace.write('refused', device=0, bytes=1, used_bytes=1, limit_bytes=1)"
    job(f"process(); take(1, min(limit, 20 << 30))\nif limit < 20 << 30: {refused}\n")
    found = veritasest.estimate(["train.py"], memory="16GiB")
    assert (found.verdict, found.needs.comfortable_bytes) == ("fits", 20 * GIB)
    assert found.peak.reserved_bytes == found.gpu.available_bytes


def test_a_guessed_size_is_moved_to_its_bounds_and_the_needs_get_a_range(job: Job) -> None:
    job(
        "process(); trace.write('unmodelled', library='cufft', name='plan', how='bounded')\n"
        "size = {'low': 4 << 30, 'high': 3 << 30}.get(os.environ.get('VERITASEST_GUESSES'), 5 << 30)\n"
        "take(1, size); step(1, size); end('steps')"
    )
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert found.needs.comfortable_bytes == 5 * GIB
    assert found.needs.comfortable_range_bytes == (3 * GIB, 5 * GIB)  # a larger workspace may well reserve less
    assert (found.needs.minimum_range_bytes, len(found.runs)) == (None, 3)


def test_guesses_that_are_never_too_high_cost_one_more_run(job: Job) -> None:
    job(
        "process(); trace.write('unmodelled', library='cudnn', name='plan', how='bounded above')\n"
        "size = {'high': 7 << 30}.get(os.environ.get('VERITASEST_GUESSES'), 5 << 30)\n"
        "take(1, size); step(1, size); end('steps')"
    )
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert (found.needs.comfortable_range_bytes, len(found.runs)) == ((5 * GIB, 7 * GIB), 2)


ASSUMES = (
    "trace.write('assumed', how='{how}', operator='nonzero', file='train.py', line=3, code='x[mask]', value=7)\n"
    "process(); size = {{'none': 1 << 30, 'all': 9 << 30}}.get(os.environ.get('VERITASEST_CHOICES'), 5 << 30)\n"
    "take(1, size); step(1, size); end('steps')"
)


def test_assumed_sizes_are_tried_with_nothing_and_with_everything_chosen(job: Job) -> None:
    job(ASSUMES.format(how="size"))
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert found.needs.comfortable_bytes == 5 * GIB
    assert found.needs.assumed_range_bytes == (1 * GIB, 9 * GIB)
    assert [(one.how, one.line, one.value) for one in found.assumed] == [("size", 3, 7)]
    assert len(found.runs) == 3


def test_a_job_that_dies_with_nothing_chosen_still_has_a_range(job: Job) -> None:
    job("os.environ.get('VERITASEST_CHOICES') == 'none' and sys.exit(1)\n" + ASSUMES.format(how="size"))
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert found.needs.assumed_range_bytes == (5 * GIB, 9 * GIB)


def test_numbers_that_were_assumed_cost_no_more_runs(job: Job) -> None:
    job(ASSUMES.format(how="number"))
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert (found.needs.assumed_range_bytes, len(found.assumed), len(found.runs)) == (None, 1, 1)


def test_a_long_job_is_not_run_again_for_the_sake_of_assumed_sizes(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veritasest.api.PATIENCE_S", 0.0)
    job(ASSUMES.format(how="size"))
    found = veritasest.estimate(["train.py"], gpu="h200", steps=1)
    assert (found.needs.assumed_range_bytes, len(found.runs)) == (None, 1)
    assert any("sizes hang on assumed values" in warning for warning in found.warnings)


def test_the_choice_of_values_reaches_the_job(job: Job, bench: Path) -> None:
    names = ("VERITASEST_VALUES", "VERITASEST_ASSUME", "VERITASEST_HOST_MEMORY")
    job(f"process(); take(1, 1); open('told', 'w').write(' '.join(os.environ[name] for name in {names}))")
    veritasest.estimate(["train.py"], values="real:head", assume={"mask": 0.3, "finite": False}, host_memory="1GiB")
    assert (bench / "told").read_text() == f"real:head mask=0.3;finite=no {GIB}"


def test_a_failed_job_keeps_its_trace(job: Job) -> None:
    job("sys.exit(7)")
    found = veritasest.estimate(["train.py"])
    assert found.failure is not None
    assert found.trace_path is not None
    assert (found.verdict, found.failure.exit_code) == ("job_failed", 7)
    assert Path(found.trace_path).exists()
    Path(found.trace_path).unlink()


def test_a_timeout_ends_the_job_and_all_it_started(job: Job, bench: Path) -> None:
    job(
        "import subprocess; process(); take(1, 5)\n"
        "child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "open('pid', 'w').write(str(child.pid)); time.sleep(60)"
    )
    found = veritasest.estimate(["train.py"], timeout_s=1.5)
    assert found.undetermined is not None
    assert (found.verdict, found.settled, found.undetermined.reason) == ("undetermined", False, "timeout")
    assert not _is_running(int((bench / "pid").read_text()))


def test_workers_that_outlive_the_job_are_ended(job: Job, bench: Path) -> None:
    job(
        "import subprocess; child = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "open('pid', 'w').write(str(child.pid)); process(); take(1, 5)"
    )
    veritasest.estimate(["train.py"])
    assert not _is_running(int((bench / "pid").read_text()))


def test_two_estimates_at_once_do_not_disturb_each_other(job: Job) -> None:
    job("process(); take(1, int(sys.argv[1])); time.sleep(0.5)")
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
    job("process(); take(1, 5); step(1, 5); time.sleep(0.5)")
    seen: list[int] = []
    veritasest.estimate(["train.py"], on_progress=lambda progress: seen.append(progress.peak_bytes))
    assert seen[-1] == 5


def test_the_environment_and_the_folder_can_be_given(job: Job, tmp_path: Path) -> None:
    script = job("process(); take(1, int(os.environ['SIZE']))")
    found = veritasest.estimate([str(script)], cwd=tmp_path, env={**os.environ, "SIZE": "77"})
    assert found.peak.reserved_bytes == 77


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"steps": 0}, "at least 1"),
        ({"steps": 1, "until_exit": True}, "exclude"),
        ({"timeout_s": 0}, "above zero"),
        ({"memory": "24GB"}, "GiB"),
        ({"gpu": "voodoo"}, "unknown GPU"),
        ({"values": "reel"}, "no such choice of values"),
        ({"assume": {"mask": 2}}, "cannot assume mask=2"),
        ({"values": "real", "host_memory": "64GB"}, "64GB"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, object], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        veritasest.estimate(["true"], **options)  # type: ignore[arg-type]


def test_a_command_as_one_string_is_refused() -> None:
    with pytest.raises(UsageError, match="one string"):
        veritasest.estimate("python train.py")


def test_an_existing_trace_is_never_mixed_with_another(job: Job, bench: Path) -> None:
    job(TRAINS)
    (bench / "t.vest").write_text("precious")
    with pytest.raises(UsageError, match="exists"):
        veritasest.estimate(["train.py"], trace="t.vest")
    assert (bench / "t.vest").read_text() == "precious"


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
