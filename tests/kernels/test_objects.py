"""Machine code is made for every platform on any, the same each time, and a missing compiler is named."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.command_line import TIMEOUT

from capfst.kernels import kernel, objects
from capfst.kernels.types import F64Array, f64
from capfst.system.radix_sort import refine

X86_64_ELF, AARCH64_ELF = b"\x7fELF\2\1\1" + bytes(9) + b"\1\0\x3e\0", b"\x7fELF\2\1\1" + bytes(9) + b"\1\0\xb7\0"
BEGINNINGS = {
    "x86-64-v2": X86_64_ELF,
    "x86-64-v3": X86_64_ELF,
    "aarch64": AARCH64_ELF,
    "macos-aarch64": b"\xcf\xfa\xed\xfe\x0c\0\0\1",
    "windows-x86-64-v2": b"\x64\x86",
    "windows-x86-64-v3": b"\x64\x86",
}


@kernel
def sum_of_exponentials(values: F64Array) -> f64:
    total = 0.0
    for i in range(values.size):
        total += np.exp(values[i])
    return total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "names"), [(sum_of_exponentials, [b"exp\0"]), (refine, [b"NRT_MemInfo_alloc_aligned\0"])]
)
def test_object_files_are_made_for_all_platforms(made: objects.Declaration, names: list[bytes], tmp_path: Path) -> None:
    pytest.importorskip("numba")
    objects.compile_kernel(made, list(objects.TARGETS), tmp_path)
    codes = {level: objects.object_file(made, level, tmp_path).read_bytes() for level in objects.TARGETS}
    assert {level: code[: len(BEGINNINGS[level])] for level, code in codes.items()} == BEGINNINGS
    for code in codes.values():
        assert [name for name in [made.symbol.encode(), *names] if name not in code] == []
        assert [name for name in (b"numba_", b"PyErr_", b"Py_") if name in code] == []  # which no library has


COMPILE = """
import sys
from pathlib import Path
from capfst.kernels import objects
from capfst.text import unicode
for name in sys.argv[2:]:
    objects.compile_kernel(getattr(unicode, name), ["aarch64"], Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_object_files_are_the_same_whatever_was_compiled_before(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    made = []
    for names in ["is_utf8"], ["is_alphanumeric", "is_utf8"]:
        folder = tmp_path / str(len(names))
        folder.mkdir()
        subprocess.run([sys.executable, "-c", COMPILE, str(folder), *names], check=True, timeout=5 * TIMEOUT)
        (file,) = folder.glob("text_unicode_is_utf8-*")
        made.append((file.name, file.read_bytes()))
    assert made[0] == made[1]


def test_a_missing_compiler_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "/nonexistent/gcc -m64")
    with pytest.raises(objects.BuildError) as raised:
        objects.link([], tmp_path / "kernels.so")
    remedy = "install gcc (on Debian and Ubuntu: apt-get install gcc), or set CC"
    assert str(raised.value) == f"there is no C compiler /nonexistent/gcc: {remedy}"
    assert list(tmp_path.iterdir()) == []
