"""Does the job fit on the GPU, and how much memory does it use without a limit?"""

from __future__ import annotations

from dataclasses import replace

from veritasest.analysis import capacity_run, needs_unlimited, skipped_parts
from veritasest.spec.enums import Purpose, Verdict
from veritasest.spec.stop import StopRule
from veritasest.studies.runner import Runner


def study_capacity(runner: Runner) -> None:
    """The run at capacity decides; one without a limit shows the requirement where the first had too little memory."""
    first = runner.run(Purpose.CAPACITY, runner.asked)
    if first.verdict is Verdict.JOB_FAILED and skipped_parts(first):
        # It may have failed because parts were skipped: once more without, as far as the first run went before that.
        until = StopRule(steps=first.same_stop_rule.forward_from)
        runner.run(Purpose.WITHOUT_SKIPPING, replace(runner.limited(runner.gpu.available_bytes), stop=until))
    if needs_unlimited(capacity_run(runner.completed())):
        runner.run(Purpose.UNLIMITED, runner.limited(None))
