"""The exit codes of `veritasest run` and `report`. 2 (wrong usage) and 130 (Ctrl-C) come from errors, not verdicts."""

from collections.abc import Mapping

from veritasest.spec.enums import Verdict

EXIT_CODES: Mapping[Verdict, int] = {
    Verdict.FITS: 0,
    Verdict.JOB_FAILED: 1,
    Verdict.DOES_NOT_FIT: 3,
    Verdict.UNSUPPORTED: 4,
    Verdict.UNDETERMINED: 5,
}
