"""Kernels run from the library or, if they have changed, are compiled when they are called; errors are one line."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import CAPFST, TIMEOUT

from capfst.kernels import _call, build, library

ROOT = Path(__file__).parents[2]
TEXT = """\
us senator o'neill bought an iphone in new york, and mcdonald's sold it to dr. smith.
IN PARIS, FRANCE, THE E.U. MET ON MONDAY. ıstanbul'da straße ǆungla
"""

pytestmark = pytest.mark.skipif(not (library.FOLDER / library.DIGESTS).exists(), reason="kernels are not built")


def run(*command: str, kernels: str = "", code: int = 0) -> subprocess.CompletedProcess:
    environment = os.environ | {"CAPFST_KERNELS": kernels}
    done = subprocess.run(
        command, input=TEXT, env=environment, capture_output=True, text=True, check=False, timeout=5 * TIMEOUT
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.slow
def test_libraries_and_kernels_that_are_compiled_when_called_give_the_same() -> None:
    expected = run(*CAPFST, "recase", "--nbest", "3").stdout
    assert "New York" in expected
    own = library.own_level()
    for name in "jit", own, own.replace("v3", "v2"):
        if name == "jit" or library.path_of(name).exists():
            assert run(*CAPFST, "recase", "--nbest", "3", kernels=name).stdout == expected


def test_a_library_that_is_not_there() -> None:
    done = run(*CAPFST, "recase", kernels="z80", code=1)
    assert "no kernels for z80. Install a wheel" in done.stderr
    assert len(done.stderr.splitlines()) == 1


PROGRAM = """
from capfst.text.unicode import LETTER, is_alphanumeric, lower
print(is_alphanumeric(LETTER), lower("ABC"))
"""


def test_libraries_that_are_damaged_or_missing(tmp_path: Path) -> None:
    package = tmp_path / "capfst"
    shutil.copytree(ROOT / "capfst", package, ignore=shutil.ignore_patterns("*.fst", "__pycache__", "lib"))
    shutil.copytree(ROOT / "grammars", package / "grammars")

    def error() -> str:
        program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{PROGRAM}"
        return run(sys.executable, "-c", program, code=1).stderr.splitlines()[-1]

    assert "CapfstError: there are no kernels for " in error()
    shutil.copytree(library.FOLDER, package / "kernels" / "lib")
    damaged = package / "kernels" / "lib" / library.path_of(library.own_level()).name
    damaged.write_bytes(bytes(1000))
    assert "CapfstError: the compiled kernels cannot be loaded: " in error()
    (package / "kernels" / Path(_call.__file__).name).unlink()
    assert "CapfstError: capfst is not built (" in error()


@pytest.mark.slow
def test_a_kernel_that_is_edited_is_compiled_and_kept(tmp_path: Path) -> None:
    for name in "capfst", "grammars":
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.fst", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    kept = tmp_path / "build" / "kernels"
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{PROGRAM}"]

    done = run(*command)
    assert (done.stdout, done.stderr, kept.exists()) == ("True abc\n", "", False)

    edited = tmp_path / "capfst" / "text" / "unicode.py"
    edited.write_text(edited.read_text("utf-8") + "\n# A comment changes no kernel.\n", "utf-8")
    assert (run(*command).stderr, kept.exists()) == ("", False)

    edited.write_text(edited.read_text("utf-8").replace("return char_class == LETTER or ", "return "), "utf-8")
    note = "capfst: compiling the kernels that have changed since they were built (until you run `make kernels`)\n"
    done = run(*command)
    assert (done.stdout, done.stderr) == ("False abc\n", note)
    made = {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    assert {file.name.split("-")[0] for file in made} == {"text_unicode_is_alphanumeric"}
    assert run(*command).stdout == "False abc\n"
    assert {file: file.stat().st_mtime_ns for file in kept.iterdir()} == made


def test_every_kernel_that_python_calls_is_there_and_checks_its_arguments() -> None:
    kernels = [kernel for module in build.modules() for kernel in build.kernels_of(module)]
    assert len(kernels) > 100
    functions = ctypes.CDLL(str(library.path_of(library.own_level())))
    for kernel in kernels:
        address = ctypes.cast(functions[kernel.symbol], ctypes.c_void_p).value
        if not os.environ.get("CAPFST_KERNELS"):
            assert library.addresses(kernel)[0] == address
        with pytest.raises(TypeError, match=kernel.name):
            kernel(object())
