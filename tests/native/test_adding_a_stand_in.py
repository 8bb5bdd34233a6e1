"""The worked example in native/README.md: one folder and one line in the build file make a stand-in."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prerequisites import missing

NATIVE = Path(__file__).parents[2] / "native"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of native/ with what the README says is needed for a library `cufoo`."""
    native = Path(shutil.copytree(NATIVE, tmp_path / "native", ignore=shutil.ignore_patterns("tests")))
    text = (native / "README.md").read_text()
    code = re.search(r"^`cufoo/cufoo\.c`\n\n((?:    .*\n|\n)+)", text, re.MULTILINE)
    line = re.search(r"^    (stand_in\(cufoo .*\))$", text, re.MULTILINE)
    assert code
    assert line
    (native / "cufoo").mkdir()
    (native / "cufoo" / "cufoo.c").write_text(re.sub(r"^    ", "", code[1], flags=re.MULTILINE))
    (native / "symbols" / "cufoo_noop.def").write_text("/* No-ops. */\nVEST_NOOP(cufooRun)\n")
    (native / "symbols" / "cufoo_unsupported.def").write_text("/* Unsupported. */\nVEST_UNSUPPORTED(cufooRare)\n")
    build_file = native / "CMakeLists.txt"
    build_file.write_text(build_file.read_text().replace("stand_in(nccl ", f"{line[1]}\nstand_in(nccl ", 1))
    return native


def test_one_folder_and_one_line_make_a_stand_in(sources: Path, tmp_path: Path) -> None:
    cmake = shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")
    if cmake is None:
        raise missing("cmake is not installed")
    build = tmp_path / "build"
    subprocess.run([cmake, "-S", sources, "-B", build], check=True, capture_output=True)
    subprocess.run([cmake, "--build", build, "--target", "cu13_libcufoo"], check=True, capture_output=True)
    listed = (build / "lib" / "preload.txt").read_text().split()
    place = listed.index("cu13/libcufoo.so.13")
    assert (listed[place - 1], listed[place + 1]) == ("cu12/libcufoo.so.12", "libnccl.so.2")
    names = subprocess.run(
        ["nm", "-D", "--defined-only", build / "lib" / "cu13" / "libcufoo.so.13"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert set(re.findall(r" T (\w+)@@libcufoo", names)) == {"cufooCreate", "cufooDestroy", "cufooRare", "cufooRun"}
