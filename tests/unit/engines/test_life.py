"""How a job is moved on to later parts: its loops and their conditions. No torch is needed."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from veritasest.engines.emulated.agent.life import frame_reader
from veritasest.engines.emulated.agent.life.conditions import Condition, NotUnderstood
from veritasest.engines.emulated.agent.life.control import LoopControl
from veritasest.engines.emulated.agent.life.loops import place_of

NANO = """\
import torch

def main(args, loader):
    model = make()
    for epoch in range(args.epochs):
        for step, batch in enumerate(loader):
            train(batch)
            if step % 100 == 0:
                print(step)
            if step % args.eval_every == 0:
                evaluate(model)
            if args.distributed:
                reduce(model)
            if step == 7 and epoch > 2:
                raise ValueError
            if step > args.most:
                break
        validate(model)
    print("trained")
    test(model)

def endless():
    n = 0
    while True:
        train(n)
        n += 1
    test()

main(parse(), load())
save("model.pt")
"""


@pytest.fixture
def source(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        path = tmp_path / "train.py"
        path.write_text(text)
        return str(path)

    return write


def place(file: str, function: str, first_line: int, line: int) -> Any:
    found = place_of(file, function, first_line, line)
    assert found is not None
    return found


def test_only_branches_that_may_run_later_and_do_something_are_of_interest(source: Callable[[str], str]) -> None:
    found = place(source(NANO), "main", 3, 7)
    assert [loop.counter for loop in found.loops] == ["epoch", "step"]
    # Printing takes no memory, args.distributed does not change, and raising an error is no part of a job's life.
    inner = [(branch.line, branch.text, branch.leaves) for branch in found.loops[1].branches]
    assert inner == [(10, "if step % args.eval_every == 0", False), (16, "if step > args.most", True)]


def test_what_comes_after_the_outermost_loop_is_found(source: Callable[[str], str]) -> None:
    file = source(NANO)
    assert place(file, "main", 3, 7).after == (20, "test(model)")
    assert place(file, "<module>", 1, 29).after == (30, "save('model.pt')")
    assert place(file, "endless", 22, 25).after is None  # nothing comes after a loop without a way out


def test_a_counter_in_a_loop_is_known_with_its_line(source: Callable[[str], str]) -> None:
    (loop,) = place(source(NANO), "endless", 22, 25).loops
    assert (loop.counter, dict(loop.stepped)) == (None, {"n": 26})


def test_no_source_no_place() -> None:
    assert place_of("<string>", "<module>", 1, 1) is None


def condition(text: str, counter: str = "step", **values: Any) -> Condition:
    return Condition(ast.parse(text, mode="eval").body, counter, values.__getitem__)


class Arguments:
    every = 500
    schedule = (3, 9)

    @property
    def computed(self) -> int:
        raise AssertionError("a property is code of the job, and must not run")


@pytest.mark.parametrize(
    ("text", "start", "count"),
    [
        ("step % args.every == 0", 1, 500),
        ("(step + 1) % args.every == 0 and step > 600", 1, 999),
        ("step in args.schedule", 4, 9),
        ("step == 5_000_000", 1, 5_000_000),  # beyond what is tried one by one
        ("step % 250_000 == 0", 1, 250_000),
        ("step > most", 1, 600_001),
        ("not step < most", 1, 600_000),
        ("step == len(batches) - 1", 0, 2),
        ('step == config["steps"]', 0, 70),
        ("step < 0", 1, None),
    ],
)
def test_the_count_at_which_a_condition_holds_is_found(text: str, start: int, count: int | None) -> None:
    known = {"args": Arguments(), "most": 600_000, "batches": [1, 2, 3], "config": {"steps": 70}}
    assert condition(text, **known).first(start) == count


@pytest.mark.parametrize(
    "text", ["step > args.computed", "step > read()", "ready(step)", "step > missing", "other > 3", "step[0] > 2"]
)
def test_a_condition_that_would_run_code_is_not_understood(text: str) -> None:
    with pytest.raises(NotUnderstood):
        condition(text, args=Arguments(), read=int, other=5).first(0)


needs_frames = pytest.mark.skipif(
    not (3, 11) <= sys.version_info[:2] <= (3, 13), reason="frames of this interpreter are not read"
)


@needs_frames
def test_this_interpreter_is_supported() -> None:
    assert frame_reader.is_supported()


def run(file: str, **names: Any) -> dict[str, Any]:
    """Runs the script as a user's: its frames carry the name of its file."""
    space = dict(names)
    exec(compile(Path(file).read_text(), file, "exec"), space)
    return space


PLAIN = """\
def train(steps):
    sampled = []
    for step in range(steps):
        on_step(step)
        if (step + 1) % 1000 == 0:
            sampled.append(make(step))
    return sampled, step

sampled, last = train(20_000)
"""


class Job:
    """Calls the loop control after every step as the recorder would, once the first steps are done."""

    def __init__(self, act: Callable[[LoopControl], Any]) -> None:
        self.control = LoopControl()
        self.act = act
        self.seen: list[Any] = []

    def on_step(self, *where: Any) -> None:
        self.seen.append(where[0] if len(where) == 1 else where)
        if len(self.seen) <= 2:
            self.control.note_counters()
        elif len(self.seen) % 3 == 0:
            self.act(self.control)


@needs_frames
def test_a_branch_that_has_not_run_is_reached_and_then_the_last_round(source: Callable[[str], str]) -> None:
    job = Job(lambda control: control.reach_next() or control.leave())
    space = run(source(PLAIN), on_step=job.on_step, make=lambda step: step)
    assert space["sampled"] == [999, 19_999]
    assert space["last"] == 19_999
    assert job.seen == [0, 1, 2, 999, 1000, 1001, 19_999]


@needs_frames
def test_what_was_not_reached_is_named_with_its_line(source: Callable[[str], str]) -> None:
    named: list[Any] = []
    job = Job(lambda control: named.extend(control.not_reached()) or control.leave())
    file = source(PLAIN + "finish(sampled)\n")
    run(file, on_step=job.on_step, make=lambda step: step, finish=len)
    assert [(one.what, one.line) for one in named[:3]] == [
        ("if (step + 1) % 1000 == 0", 5),
        ("19,997 more rounds of this loop", 3),
        ("finish(sampled)", 10),
    ]


@needs_frames
def test_a_branch_that_ran_in_the_first_round_is_not_missed(source: Callable[[str], str]) -> None:
    named: list[Any] = []
    job = Job(lambda control: named.append(control.not_reached()) or control.leave())
    run(source(PLAIN.replace("(step + 1)", "step")), on_step=job.on_step, make=lambda step: step)
    assert [one.what for one in named[0]] == ["19,997 more rounds of this loop"]


NESTED = """\
for epoch in range(50):
    for step in range(800):
        on_step(epoch, step)
    validated.append(epoch)
    if epoch == 30:
        unfrozen.append(make(epoch))
"""


@needs_frames
def test_inner_loops_are_shortened_and_outer_ones_go_on(source: Callable[[str], str]) -> None:
    job = Job(lambda control: control.shorten())
    validated: list[int] = []
    run(source(NESTED), on_step=job.on_step, validated=validated, unfrozen=[], make=int)
    assert validated == list(range(50))
    assert len(job.seen) < 50 * 5


@needs_frames
def test_a_later_epoch_is_reached_through_the_outer_loop(source: Callable[[str], str]) -> None:
    job = Job(lambda control: (control.reach_next() and control.shorten()) or control.leave())
    unfrozen: list[int] = []
    run(source(NESTED), on_step=job.on_step, validated=[], unfrozen=unfrozen, make=int)
    assert unfrozen == [30]


COUNTED = """\
def train(most):
    n, evaluated = 0, []
    while True:
        if n % 2000 == 0 and n > 0:
            evaluated.append(make(n))
        on_step(n)
        n += 1
        if n > most:
            break
    return evaluated, n

evaluated, n = train(600_000)
"""


@needs_frames
@pytest.mark.parametrize("module_level", [False, True])
def test_a_counter_in_the_job_is_advanced(source: Callable[[str], str], module_level: bool) -> None:
    text = COUNTED
    if module_level:  # the same loop outside of a function
        body = text.split("\n    return")[0].split("\n", 1)[1]
        text = "most = 600_000\n" + "\n".join(line[4:] for line in body.splitlines())
    job = Job(lambda control: control.reach_next() or control.leave())
    space = run(source(text), on_step=job.on_step, make=lambda n: n)
    assert space["evaluated"] == [2000]
    assert space["n"] == 600_001
    assert len(job.seen) < 10


@needs_frames
def test_loops_over_generators_like_tqdm_are_followed(source: Callable[[str], str]) -> None:
    bar = "def bar(values):\n    for value in values:\n        yield value\n\n"
    text = bar + "for step in bar(range(500)):\n    on_step(step)\n"
    job = Job(lambda control: control.leave())
    run(source(text), on_step=job.on_step)
    assert job.seen == [0, 1, 2, 499]


@needs_frames
def test_enumerate_counts_batches_that_were_left_out(source: Callable[[str], str]) -> None:
    batches = iter(range(10))
    job = Job(lambda control: control.skip_indices(batches, 90))
    run(source("for index, _ in enumerate(batches):\n    on_step(index)\n"), on_step=job.on_step, batches=batches)
    assert job.seen[:5] == [0, 1, 2, 93, 94]


def test_lists_are_never_shortened(source: Callable[[str], str]) -> None:
    job = Job(lambda control: (control.shorten(), control.leave()))
    run(source("for size in [128, 160, 192, 224, 256]:\n    on_step(size)\n"), on_step=job.on_step)
    assert job.seen == [128, 160, 192, 224, 256]


@needs_frames
def test_rounds_of_a_list_that_were_not_seen_are_named(source: Callable[[str], str]) -> None:
    named: list[Any] = []
    job = Job(lambda control: named.extend(control.not_reached()))
    run(source("for index, size in enumerate([128, 160, 192, 224, 256]):\n    on_step(size)\n"), on_step=job.on_step)
    assert [(one.what, one.line) for one in named] == [("2 more rounds of this loop", 1)]
