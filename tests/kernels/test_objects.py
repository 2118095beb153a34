"""Machine code is compiled for every platform on any, the same each time; a missing compiler is reported."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.command_line import TIMEOUT

from capfst.exceptions import CapfstError
from capfst.kernels import Kernel, build, kernel
from capfst.kernels.types import F64Array, f64
from capfst.system.radix_sort import refine

BEGINNINGS = {
    ("x86-64-v2", "linux"): b"\x7fELF\2\1\1" + bytes(9) + b"\1\0\x3e\0",
    ("x86-64-v3", "linux"): b"\x7fELF\2\1\1" + bytes(9) + b"\1\0\x3e\0",
    ("aarch64", "linux"): b"\x7fELF\2\1\1" + bytes(9) + b"\1\0\xb7\0",
    ("aarch64", "darwin"): b"\xcf\xfa\xed\xfe\x0c\0\0\1",
    ("x86-64-v3", "win32"): b"\x64\x86",
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
def test_object_files_are_made_for_all_platforms(made: Kernel, names: list[bytes]) -> None:
    entries = pytest.importorskip("capfst.kernels.entries", exc_type=ImportError)
    for (level, system), beginning in BEGINNINGS.items():
        code = entries.machine_code(made, level, system)
        assert code.startswith(beginning), (level, system)
        assert [name for name in [made.symbol.encode(), *names] if name not in code] == []
        assert [name for name in (b"numba_", b"PyErr_", b"Py_") if name in code] == []  # no library has these


COMPILE = """
import sys
from pathlib import Path
from capfst.kernels import build
from capfst.text import unicode
build.compile_kernels([getattr(unicode, name) for name in sys.argv[2:]], ["aarch64"], Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_object_files_are_the_same_whatever_was_compiled_before(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    made = []
    for names in ["lower_into"], ["is_alphanumeric", "lower_into"]:
        folder = tmp_path / str(len(names))
        subprocess.run([sys.executable, "-c", COMPILE, str(folder), *names], check=True, timeout=5 * TIMEOUT)
        (file,) = folder.glob("text_unicode_lower_into-*")
        made.append((file.name, file.read_bytes()))
    assert made[0] == made[1]


def test_a_missing_compiler_is_named_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "/nonexistent/gcc -m64")
    with pytest.raises(CapfstError) as raised:
        build.link([], tmp_path / "kernels.so")
    assert "/nonexistent/gcc" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []
