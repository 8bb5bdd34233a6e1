"""The agent is there however the job is started and whatever it imports first, and its errors are never the job's."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import TRAIN_FOREVER, Run, call

TRACE = "runs/01-capacity/trace.jsonl"
SITE_PACKAGES = next(entry for entry in sys.path if entry.endswith("site-packages"))


@pytest.fixture
def traced(script: Callable[[str], Path], tmp_path: Path) -> Callable[..., tuple[Run, list[dict[str, Any]]]]:
    """Runs a script on the emulated device, Python with these options: how it ended, and the records of its trace."""

    def run(body: str, *python: str, name: str = "train.py") -> tuple[Run, list[dict[str, Any]]]:
        saved, answer = tmp_path / "saved", tmp_path / "estimate.json"
        path = script(body) if name == "train.py" else script(body, name)
        options = ["run", "--budget", "1", "--force", "--save", str(saved), "--json", str(answer)]
        done = call(*options, "--", sys.executable, *python, str(path), cwd=tmp_path)
        estimate = json.loads(answer.read_text()) if answer.exists() else None
        records = [json.loads(line) for line in (saved / TRACE).read_text().splitlines() if line]
        ended = Run(code=done.returncode, stdout=done.stdout, stderr=done.stderr.decode(), estimate=estimate)
        return ended, records

    return run


Traced = Callable[..., tuple[Run, list[dict[str, Any]]]]


def of_kind(records: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [record for record in records if record["kind"] == kind]


@pytest.mark.parametrize(
    "first",
    [
        'import importlib.util\nfor _ in range(3):\n    assert importlib.util.find_spec("torch").loader.path',
        "import transformers",
        "import threading, importlib\n"
        'thread = threading.Thread(target=importlib.import_module, args=("torch",))\nthread.start()\nthread.join()',
    ],
    ids=["find_spec", "transformers", "thread"],
)
def test_the_job_is_watched_whatever_it_does_before_importing_torch(traced: Traced, first: str) -> None:
    run, records = traced(f"{first}\n{TRAIN_FOREVER}\ntrain()")
    assert run.code == 0, run.text
    assert run.estimate is not None
    assert (run.estimate["steps"] >= 3, run.estimate["settled"]) == (True, True)
    assert len(of_kind(records, "process")) == 1


@pytest.mark.parametrize("options", [["-I"], ["-E"], ["-S"], ["-I", "-S", "-X", "dev"]], ids=" ".join)
def test_the_agent_starts_where_python_does_not_look_for_it(traced: Traced, options: list[str]) -> None:
    # Without `site` the script has to find torch by itself.
    body = f"import sys\nsys.path.append({SITE_PACKAGES!r})\n{TRAIN_FOREVER}\ntrain()"
    run, records = traced(body, *options)
    assert run.code == 0, run.text
    assert run.estimate is not None
    assert (run.estimate["steps"] >= 3, run.estimate["settled"]) == (True, True)
    assert not of_kind(records, "own_error")


def test_estimates_do_not_depend_on_how_the_agent_was_started(traced: Traced) -> None:
    peaks = [traced(f"{TRAIN_FOREVER}\ntrain()", *options)[0].peak for options in ([], ["-I"])]
    assert peaks[0] == peaks[1]


def test_a_late_start_leaves_nothing_behind_in_the_program(traced: Traced) -> None:
    run, _ = traced("import sys\nimport torch\nprint(sorted(globals()))\ntorch.zeros(1).cuda()", "-I")
    names = "['__annotations__', '__builtins__', '__cached__', '__doc__', '__file__', '__loader__', '__name__',"
    assert f"{names} '__package__', '__spec__', 'sys', 'torch']" in run.text


BROKEN_PARTS = {
    "the allocator's history": "torch.cuda.memory._snapshot = broken",
    "the roles of tensors": "from veritasest.engines.emulated.agent import roles; roles._addresses = broken",
    "the values of aten::addmm": (
        "from veritasest.engines.emulated.steering.memory.tracker import ValueTracker; ValueTracker.forget = broken"
    ),
}


@pytest.mark.parametrize("where", BROKEN_PARTS)
def test_an_internal_error_leaves_the_job_as_it_is_and_is_reported(traced: Traced, where: str) -> None:
    body = f"""
{TRAIN_FOREVER}
train(steps=1)
def broken(*_args, **_kwargs):
    raise LookupError("broken on purpose")
{BROKEN_PARTS[where]}
train()
"""
    run, records = traced(body)
    # Without the history or the roles the report is shorter; without values, what the job would have done is unknown.
    assert run.code == (5 if "values" in where else 0), run.text
    assert run.estimate is not None
    assert run.estimate["steps"] >= 3
    errors = of_kind(records, "own_error")
    assert where in {error["where"] for error in errors}
    assert {(error["type"], error["message"]) for error in errors} == {("LookupError", "broken on purpose")}
    assert all("veritasest/engines/emulated/" in error["file"] and error["line"] > 0 for error in errors)
    assert not of_kind(records, "exception")


def test_a_job_whose_steps_cannot_be_counted_runs_to_its_own_end(traced: Traced) -> None:
    body = f"""
{TRAIN_FOREVER}
from torch.utils.data import DataLoader
from veritasest.engines.emulated.agent import batches
from veritasest.engines.emulated.agent.recorder import Recorder
def broken(*_args, **_kwargs):
    raise LookupError("broken on purpose")
Recorder._on_step = batches.describe_batch = broken
train(steps=5)
print("batches", sum(1 for _ in DataLoader(torch.zeros(64, 4), batch_size=8)))
"""
    run, records = traced(body)
    assert run.code == 5, run.text
    # The batch that ours had in hand when it failed is gone; all others arrive.
    assert "batches 7" in run.text
    wheres = [error["where"] for error in of_kind(records, "own_error")]
    assert wheres == ["the end of an optimizer step", "a DataLoader's batches"]
    assert of_kind(records, "end")


def test_errors_of_the_job_pass_through_the_agent_unchanged(traced: Traced) -> None:
    body = """
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Mine(Exception):
        pass

    class Data(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            if index == 4:
                raise Mine("of the job's own")
            return torch.ones(4)

    seen = []
    torch.zeros(1).cuda()
    try:
        for batch in DataLoader(Data(), batch_size=2):
            seen.append(tuple(batch.cuda().shape))
    except Mine as error:
        seen.append(str(error))
    try:
        torch.ones(2, 3).cuda() @ torch.ones(2, 3).cuda()
    except RuntimeError as error:
        seen.append("mat1 and mat2 shapes cannot be multiplied" in str(error))
    try:
        torch.empty(1 << 50, device="cuda")
    except torch.OutOfMemoryError as error:
        seen.append(type(error).__name__)
    try:
        next(iter([]))
    except StopIteration:
        print("seen", seen)
    """
    run, records = traced(body)
    assert "seen [(2, 4), (2, 4), \"of the job's own\", True, 'OutOfMemoryError']" in run.text
    assert not of_kind(records, "own_error")


def test_a_process_without_an_agent_continues_and_says_why(traced: Traced) -> None:
    child = "import torch; print('child', torch.zeros(4).cuda().shape)"
    body = f"""
    import json, os, subprocess, sys
    document = json.load(open(os.environ["VERITASEST_RUN"]))
    document["native"]["home"] = "/nowhere"
    json.dump(document, open("run.json", "w"))
    environment = {{**os.environ, "VERITASEST_RUN": os.path.abspath("run.json")}}
    done = subprocess.run([sys.executable, "-c", {child!r}], env=environment)
    print("ended with", done.returncode)
    """
    run, records = traced(body)
    assert "child torch.Size([4])" in run.text
    assert "ended with 0" in run.text
    errors = of_kind(records, "own_error")
    assert [error["where"] for error in errors][:1] == ["the start of the agent"]
    # Its memory is recorded, but no `process` record is: that is how the analysis knows.
    took = {record["pid"] for record in of_kind(records, "segment")}
    assert took == {errors[0]["pid"]}
    assert not of_kind(records, "process")
