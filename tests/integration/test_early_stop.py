"""A job that does not end by itself is ended once its peak has settled, and never as if it had finished."""

from .conftest import TRAIN_FOREVER

# Every way in which a script may go on, or do something at its end: each leaves a file.
ENDINGS = """
import atexit
import contextlib

def finish(way):
    open(f"finished by {way}", "w")

@contextlib.contextmanager
def saving():
    try:
        yield
    finally:
        finish("a context manager")

atexit.register(finish, "atexit")
try:
    try:
        try:
            with saving():
                train()
            finish("code after the loop")
        finally:
            finish("finally")
    except Exception:
        finish("except Exception")
except:
    finish("a bare except")
finish("the end of the script")
"""


def test_ending_early_runs_no_exit_handlers_of_the_script(estimate, tmp_path):
    run = estimate(TRAIN_FOREVER + ENDINGS, "--allow-writes")
    assert run.code == 0, run.text
    assert run.estimate["verdict"] == "fits"
    assert run.estimate["settled"] is True
    assert list(tmp_path.glob("finished*")) == []
    assert "Traceback" not in run.stderr


def test_what_the_script_printed_before_the_end_is_not_lost(estimate):
    run = estimate(TRAIN_FOREVER + "print('no newline and not flushed', end='')\ntrain()\n")
    assert b"no newline and not flushed" in run.stdout


def test_a_job_is_not_ended_before_three_steps_however_small_the_budget(estimate):
    run = estimate(TRAIN_FOREVER + "train()\n", "--budget", "0")
    assert 3 <= run.estimate["steps"] <= 12
    assert run.estimate["settled"] is True


def test_steps_ends_the_job_after_exactly_that_many(estimate):
    assert estimate(TRAIN_FOREVER + "train()\n", "--steps", "7").estimate["steps"] == 7


def test_until_exit_lets_the_script_finish(estimate, tmp_path):
    run = estimate(TRAIN_FOREVER + "train(steps=9)\nopen('finished', 'w')\n", "--until-exit", "--allow-writes")
    assert run.code == 0, run.text
    assert run.estimate["steps"] == 9
    assert (tmp_path / "finished").exists()


def test_timeout_ends_a_job_that_never_settles_and_is_undetermined(estimate):
    keep_more = "import time\nheld = []\nwhile True:\n    held.append(torch.ones(2**19).cuda())\n"
    grows = keep_more + "    train(steps=1)\n    time.sleep(0.1)\n"
    run = estimate(TRAIN_FOREVER + grows, "--timeout", "12")
    assert run.code == 5, run.text
    assert (run.estimate["settled"], run.estimate["undetermined"]["reason"]) == (False, "timeout")
    assert any("--timeout" in warning for warning in run.estimate["warnings"])
