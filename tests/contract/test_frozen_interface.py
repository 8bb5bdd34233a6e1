"""What users type and import is frozen: a change here is a change of the public interface."""

from __future__ import annotations

import inspect
import re

import pytest

import veritasest
from veritasest.api import Options
from veritasest.cli import main, verb_names

FLAGS = {
    "run": {
        *("--gpu", "--memory"),
        *("--steps", "--until-exit", "--timeout", "--budget", "--minimum", "--allow-writes"),
        *("--values", "--assume", "--host-memory"),
        *("--json", "--force", "--quiet", "--save"),
    },
    "report": {"--json", "--force", "--quiet"},
    "gpus": {"--json"},
    "doctor": set(),
}
EXIT_CODES = "0 fits, 3 does not fit, 1 the job itself failed, 2 wrong usage, 4 not supported, 5 undetermined"
OPTIONS = {
    *("gpu", "memory", "steps", "until_exit", "budget_s", "timeout_s", "minimum"),
    *("values", "assume", "host_memory", "allow_writes", "save", "cwd", "env", "stdout", "on_progress", "on_notice"),
}
NAMES = {
    *("Estimate", "Verdict", "__version__", "estimate", "estimate_recording", "open_recording"),
    *("Interrupted", "TraceError", "UnsupportedEnvironment", "UsageError", "VeritasEstError"),
}


def help_of(verb: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([verb, "--help"]) == 0
    return capsys.readouterr().out


def test_the_verbs_are_frozen() -> None:
    assert set(verb_names()) == set(FLAGS)


@pytest.mark.parametrize("verb", FLAGS)
def test_the_flags_of_every_verb_are_frozen(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = help_of(verb, capsys).partition("options:\n")[2]  # after the description, which mentions some
    listed = re.findall(r"^  (?:-\w, )?(--[\w-]+)", options, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) == FLAGS[verb] | {"--help"}


def test_the_exit_codes_are_documented(capsys: pytest.CaptureFixture[str]) -> None:
    assert EXIT_CODES in " ".join(help_of("run", capsys).split())


def test_the_exported_names_are_frozen_and_there() -> None:
    assert set(veritasest.__all__) == NAMES
    assert all(getattr(veritasest, name) for name in NAMES)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        veritasest.nothing  # noqa: B018


def test_the_options_of_the_python_api_are_frozen() -> None:
    assert set(Options.__annotations__) == OPTIONS
    (command, options) = inspect.signature(veritasest.estimate).parameters.values()
    assert (command.name, options.kind) == ("command", inspect.Parameter.VAR_KEYWORD)
