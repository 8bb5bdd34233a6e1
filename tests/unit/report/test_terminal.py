"""The report for people."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from estimates import GIB, MIB, estimate

from veritasest.report import reporters
from veritasest.spec.enums import FileMode, Verdict
from veritasest.spec.estimate import (
    AssumedValue,
    Estimate,
    Failure,
    FileChanges,
    Missed,
    Needs,
    NotModelled,
    Observed,
    Peak,
    Undetermined,
)


def text(found: Estimate) -> str:
    stream = io.StringIO()
    reporters()["terminal"].write(found, None, stream)
    return stream.getvalue()


def assumed(line: int, *, how: str = "number", code: str = "x.item()", matters: bool = True) -> AssumedValue:
    return AssumedValue(how=how, file="train.py", line=line, code=code, value=0.5, reads=1, matters=matters)


def test_the_first_screen() -> None:
    assert text(estimate()) == (
        "Fits on NVIDIA GeForce RTX 4090 (23.52 GiB)\n"
        "  peak reserved    6.00 GiB of 22.92 GiB available to PyTorch  [#####---------------]\n"
        "  nvidia-smi       6.59 GiB  (reserved + 384.0 MiB CUDA context + 224.0 MiB library overhead)\n"
        "  peak allocated   5.00 GiB  in step 2 of 4\n"
        "  observed         training (4 steps), to its end\n"
        "  breakdown          4.00 GiB   80 %  parameters\n"
        "                     1.00 GiB   20 %  gradients\n"
        "  torch 2.11.0+cu130, 4 steps, 1 run, 12.0 s\n"
    )


@pytest.mark.parametrize("verdict", [Verdict.FITS, Verdict.DOES_NOT_FIT])
def test_the_name_of_the_gpu_has_no_article(verdict: Verdict) -> None:
    first = text(estimate("t4", verdict=verdict)).splitlines()[0]
    assert first == f"{'Fits' if verdict is Verdict.FITS else 'Does not fit'} on Tesla T4 (14.56 GiB)"


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_has_a_headline(verdict: Verdict) -> None:
    assert text(estimate(verdict=verdict)).splitlines()[0]


def test_a_range_of_guesses_is_printed_with_the_figure() -> None:
    found = text(estimate(needs=Needs(guessed_range_bytes=(5 * GIB, 7 * GIB))))
    assert "6.00 GiB (5.00 GiB to 7.00 GiB, some sizes are estimates) of 22.92 GiB" in found


def test_a_range_without_width_is_not_printed() -> None:
    needs = Needs(guessed_range_bytes=(6 * GIB, 6 * GIB), minimum_bytes=GIB, guessed_minimum_range_bytes=(GIB, GIB))
    found = text(estimate(needs=needs))
    assert "some sizes are estimates" not in found
    assert "GiB to " not in found


def test_repeated_runs_that_differ_are_one_line() -> None:
    timing, addresses = (6 * GIB, 7 * GIB), (5 * GIB, 6 * GIB)
    one = text(estimate(needs=Needs(timing_range_bytes=timing)))
    assert "between 6.00 GiB and 7.00 GiB from run to run: block reuse depends on kernel timing\n" in one
    both = text(estimate(needs=Needs(timing_range_bytes=timing, address_range_bytes=addresses)))
    assert "between 5.00 GiB and 7.00 GiB from run to run: block reuse depends on kernel timing and the addre" in both


def test_the_minimum_says_how_it_is_reached() -> None:
    found = text(estimate(needs=Needs(minimum_bytes=5 * GIB)))
    assert "  minimum          5.00 GiB, after PyTorch frees its cache under pressure\n" in found


def test_contexts_of_several_processes_are_counted() -> None:
    found = estimate()
    found = replace(found, ranks=(replace(found.worst, processes=2),))
    assert "(reserved + 768.0 MiB CUDA contexts of 2 processes + 224.0 MiB library overhead)" in text(found)


def test_a_value_that_is_only_printed_is_left_out() -> None:
    logged = assumed(7, code='print(f"loss {loss.item():.3f}")', matters=False)
    found = text(estimate(assumed=(logged,)))
    assert "loss.item()" not in found
    assert "note:" not in found


def test_a_value_that_can_matter_is_listed_with_what_was_assumed() -> None:
    found = text(estimate(assumed=(assumed(7, code="if loss.item() > best:"),)))
    assert "note: train.py:7 read a value that was not computed; assumed 0.5 (if loss.item() > best:)" in found


def test_eight_lines_with_assumed_values_are_listed_and_the_others_counted() -> None:
    needs = Needs(assumed_range_bytes=(3 * GIB, 9 * GIB))
    lines = [assumed(77, how="size", code="x[mask]"), *(assumed(line) for line in range(10))]
    found = [line for line in text(estimate(assumed=tuple(lines), needs=needs)).splitlines() if "note:" in line]
    assert found[0] == "  note: train.py:77 derived a size from values that were not computed; assumed 0.5 (x[mask])"
    assert found[8] == "  note: 3 more lines read values that were not computed, all in --json"
    assert found[9] == "  note: depending on these values the job needs between 3.00 GiB and 9.00 GiB"


def test_what_is_not_modelled_is_listed_with_the_line_that_led_to_it() -> None:
    known = [("bounded", "size estimated, with bounds"), ("refused", "not supported"), ("guessed", "estimated")]
    items = tuple(NotModelled(library="cufft", name=how, how=how, file="train.py", line=3) for how, _ in known)
    found = text(estimate(not_modelled=items))
    for how, words in known:
        assert f"note: not modelled: cufft {how} ({words}, first at train.py:3)\n" in found


def test_places_that_were_not_reached_are_listed_with_what_helps() -> None:
    missed = tuple(Missed(what=f"if step == {line}:", file="train.py", line=line) for line in range(10))
    found = text(estimate(not_reached=missed))
    assert "note: not reached: train.py:0 > if step == 0:\n" in found
    assert "note: not reached: 2 more places, all in --json\n" in found
    assert "next: --until-exit runs the job to its own end; --budget SECONDS observes more of it\n" in found


def test_the_line_that_ran_out_of_memory_is_shown() -> None:
    failure = Failure(
        kind="oom", message="out of memory allocating 2.00 MiB", file="train.py", line=7, code=" model(x)"
    )
    found = text(estimate(verdict=Verdict.DOES_NOT_FIT, failure=failure))
    assert "  reason           out of memory allocating 2.00 MiB at train.py:7\n" in found
    assert "                   > model(x)\n" in found


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--gpu", "rtx-4090"), "--gpu rtx-4090"),
        (
            ("--gpu", "rtx-4090", "--memory", "16GiB", "--until-exit"),
            "--gpu rtx-4090 --memory 16GiB --until-exit",
        ),
    ],
)
def test_the_next_command_keeps_the_options_of_the_user(options: tuple[str, ...], words: str) -> None:
    found = estimate(verdict=Verdict.DOES_NOT_FIT)
    found = replace(found, provenance=replace(found.provenance, options=options))
    expected = f"next: find the smallest capacity it runs in: veritasest run --minimum {words} -- "
    assert f"{expected}python train.py --name 'my run'\n" in text(found)


def test_assumed_sizes_suggest_real_values() -> None:
    found = text(estimate(needs=Needs(assumed_range_bytes=(3 * GIB, 9 * GIB))))
    assert "next: without assumed values, slower: veritasest run --values real --gpu rtx-4090 -- python" in found


def test_a_job_that_failed_is_to_be_tried_without_veritasest() -> None:
    failure = Failure(kind="exit", message="the job ended with exit code 7", exit_code=7)
    found = text(estimate(verdict=Verdict.JOB_FAILED, failure=failure))
    assert found.startswith("The job itself failed (not a memory problem)\n  reason           the job ended with exit")
    assert "next: check that the command runs without veritasest; see its output above\n" in found


def test_an_undetermined_estimate_gives_a_lower_bound_and_a_hint() -> None:
    doubt = Undetermined(reason="timeout", message="--timeout ended the job", hint="use a longer --timeout")
    found = estimate(verdict=Verdict.UNDETERMINED, undetermined=doubt)
    found = replace(found, ranks=(replace(found.worst, needs=Needs()),))
    lines = text(found).splitlines()
    assert lines[:3] == [
        "Undetermined: not enough was observed to say whether it fits on NVIDIA GeForce RTX 4090 (23.52 GiB)",
        "  reason           --timeout ended the job",
        "  observed so far  6.00 GiB reserved, a lower bound",
    ]
    assert lines[-1] == "  next: use a longer --timeout"


@pytest.mark.parametrize(
    ("step", "steps", "said"),
    [(0, 0, "before the first optimizer step"), (0, 4, "in step 1 of 4"), (4, 4, "after the last step")],
)
def test_the_report_says_when_the_peak_was_reached(step: int, steps: int, said: str) -> None:
    found = estimate(steps=steps)
    found = replace(found, ranks=(replace(found.worst, peak=replace(found.peak, step=step)),))
    assert f"peak allocated   5.00 GiB  {said}\n" in text(found)


def test_a_peak_that_is_unknown_is_not_zero() -> None:
    found = estimate()
    peak = Peak(allocated_bytes=None, reserved_bytes=6 * GIB, step=1)
    assert "peak allocated   unknown" in text(replace(found, ranks=(replace(found.worst, peak=peak),)))


@pytest.mark.parametrize(
    ("observed", "said"),
    [
        (Observed(training_steps=1), "training (1 step)"),
        (Observed(training_steps=2, updates_by_hand=True), "training (2 backward passes)"),
        (
            Observed(training_steps=1200, evaluation_batches=1, captures=2, checkpoints=3, fast_forwarded=True),
            "training (1,200 steps), evaluation (1 batch), graph capture (2 times), checkpoint, repeated parts skipped",
        ),
        (Observed(training_steps=5, evaluations=2, to_the_end=True), "training (5 steps), evaluation, to its end"),
    ],
)
def test_observed_phases_are_listed(observed: Observed, said: str) -> None:
    assert f"  observed         {said}\n" in text(estimate(observed=observed))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (FileChanges(mode=FileMode.OVERLAY, written=1, bytes=MIB), "1 file (1.00 MiB) written by the job; discarded"),
        (
            FileChanges(mode=FileMode.INTERPOSER, written=2, bytes=MIB, deleted=3, folder="/runs"),
            "2 files (1.00 MiB) written and 3 deleted by the job, most in /runs; discarded (--allow-writes keeps them)",
        ),
        (FileChanges(mode=FileMode.ALLOWED, written=1), None),
        (FileChanges(mode=FileMode.OVERLAY), None),
    ],
)
def test_files_that_were_held_back_are_counted(changes: FileChanges, said: str | None) -> None:
    found = text(estimate(files=changes))
    assert (said in found) if said else ("files  " not in found)
