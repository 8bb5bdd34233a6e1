"""What the shell is told. 2 (wrong usage) and 130 (Ctrl-C) come from errors, not from verdicts."""

from collections.abc import Mapping

from veritasest.spec.estimate import Verdict

EXIT_CODES: Mapping[Verdict, int] = {
    "fits": 0,
    "does_not_fit": 3,
    "job_failed": 1,
    "unsupported": 4,
    "undetermined": 5,
}
