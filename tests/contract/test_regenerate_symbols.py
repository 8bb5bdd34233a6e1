"""scripts/regenerate-symbols finds what the stand-ins lack, and adds it."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prerequisites import cuda_torch, missing, program

ROOT = Path(__file__).parents[2]
LIBRARY, ENTRY_POINT = "curand", "curandGetScrambleConstants32"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of native/ to edit."""
    cuda_torch()
    program("nm")
    if importlib.util.find_spec("nvidia") is None:
        raise missing("the NVIDIA packages of torch are not installed")
    return Path(shutil.copytree(ROOT / "native", tmp_path / "native", ignore=shutil.ignore_patterns("tests")))


def compare(sources: Path, *options: str) -> tuple[int, str]:
    command = [sys.executable, ROOT / "scripts" / "regenerate-symbols", LIBRARY, "--native", sources, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_nothing_is_missing_for_the_installed_libraries(sources: Path) -> None:
    code, text = compare(sources)
    assert code == 0
    assert text.endswith(" 0 missing\n")


def test_a_deleted_row_is_reported_and_written_back(sources: Path) -> None:
    table = sources / "symbols" / f"{LIBRARY}_unsupported.def"
    before = table.read_text()
    table.write_text(before.replace(f"VEST_UNSUPPORTED({ENTRY_POINT})\n", ""))
    assert table.read_text() != before
    code, text = compare(sources)
    assert (code, text.splitlines()[1:]) == (1, [f"    {ENTRY_POINT}"])
    assert compare(sources, "--write")[0] == 0
    assert table.read_text() == before
    assert compare(sources)[0] == 0
