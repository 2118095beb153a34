"""Compile all kernels (entries.py), and link them by the C compiler to libraries: lib/x86-64-v3.so and the like.

    python -m capfst.kernels.build FOLDER

FOLDER keeps the object files, so that only kernels that have changed are compiled. The variable CAPFST_LEVELS selects
levels: this machine's own by default, or `all` of its architecture. CC is the command of the C compiler (`cc`).
lib/digests.json records what was built. The same sources give the same bytes, however many processes compile them.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import multiprocessing
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from capfst.exceptions import CapfstError
from capfst.kernels.function import Kernel
from capfst.kernels.library import DIGESTS, FOLDER, own_level, path_of

_HERE = Path(__file__).parent
_LINKER_OPTIONS = {
    "linux": ["-shared", "-s", "-Wl,--gc-sections", "-Wl,--no-undefined"],
    "darwin": ["-dynamiclib", "-Wl,-dead_strip,-S,-x", "-Wl,-install_name,@rpath/kernels.so"],
    "win32": ["-shared", "-s", "-static-libgcc"],
}


@lru_cache(1)
def _tools() -> str:
    """Return the versions and sources that machine code depends on, besides the kernel."""
    sources = [(_HERE / name).read_bytes() for name in ("types.py", "entries.py", "intrinsics.py", "arrays.c")]
    return f"{version('numba')} {version('llvmlite')} {sys.version} {os.environ.get('NUMBA_BOUNDSCHECK')} {sources}"


def object_file(kernel: Kernel[..., Any], level: str, folder: Path) -> Path:
    """Return the path of a kernel's object file, whose name contains a digest of all that it depends on."""
    key = hashlib.blake2b(f"{kernel.digest} {_tools()}".encode(), digest_size=8).hexdigest()
    return folder / f"{kernel.symbol}-{level}-{key}.o"


def compile_kernels(kernels: Sequence[Kernel[..., Any]], levels: Sequence[str], folder: Path) -> None:
    """Make the object files of kernels that do not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    for kernel in kernels:
        for level in levels:
            if not (file := object_file(kernel, level, folder)).exists():
                from capfst.kernels import entries  # noqa: PLC0415  (importing numba takes a second)

                temporary = file.with_suffix(f".{os.getpid()}")
                temporary.write_bytes(entries.machine_code(kernel, level, sys.platform))
                temporary.replace(file)


def compiler() -> list[str]:
    """Return the command of the C compiler. Raises: CapfstError if it is not installed."""
    command = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if not shutil.which(command[0]):
        remedy = "Install gcc (on Debian and Ubuntu: apt-get install gcc), or set CC."
        raise CapfstError(f"there is no C compiler {command[0]}. {remedy}")
    return command


def link(files: Sequence[Path], path: Path) -> None:
    """Link object files to a library, which appears complete or not at all."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        linked, listed = Path(folder, path.name), Path(folder, "files")
        listed.write_text("\n".join(f'"{file.as_posix()}"' for file in files), "utf-8")  # a command line has limits
        options = [*_LINKER_OPTIONS[sys.platform], "-fPIC", "-O2", "-o", str(linked)]
        command = [*compiler(), *options, str(_HERE / "arrays.c"), f"@{listed}", "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CapfstError(f"the kernels cannot be linked. {command[0]} reports:\n{done.stderr.strip()}")
        linked.replace(path)


def library_of(kernel: Kernel[..., Any], level: str, folder: Path) -> Path:
    """Make a library of one kernel, unless it exists; return its path."""
    path = object_file(kernel, level, folder).with_suffix(".so")
    if not path.exists():
        compile_kernels([kernel], [level], folder)
        link([path.with_suffix(".o")], path)
    return path


def modules() -> list[str]:
    """Return the names of the modules that have kernels, the largest first: they take longest to compile."""
    package = _HERE.parent
    paths = sorted(package.rglob("*.py"), key=lambda path: (-path.stat().st_size, path))
    paths = [path for path in paths if "\nfrom capfst.kernels import" in path.read_text("utf-8")]
    return [".".join(path.relative_to(package.parent).with_suffix("").parts) for path in paths if path.parent != _HERE]


def kernels_of(module: str) -> list[Kernel[..., Any]]:
    """Return the kernels of a module that Python calls."""
    kernels = [value for value in vars(importlib.import_module(module)).values() if isinstance(value, Kernel)]
    return [kernel for kernel in kernels if kernel.is_entry and kernel.py_func.__module__ == module]


def _compile_module(module: str, levels: Sequence[str], folder: Path) -> None:
    compile_kernels(kernels_of(module), levels, folder)


def build(levels: Sequence[str], folder: Path) -> None:
    """Build the libraries of these levels. Raises: CapfstError if that is not possible."""
    compiler()  # if it is missing, this fails now, not after a minute
    FOLDER.mkdir(exist_ok=True)
    names = modules()
    kernels = [kernel for name in names for kernel in kernels_of(name)]
    files = {level: [object_file(kernel, level, folder) for kernel in kernels] for level in levels}
    if missing := sum(not file.exists() for made in files.values() for file in made):
        print(f"compiling {missing} of {len(kernels) * len(levels)} kernels", flush=True)
        os.environ["PYTHONHASHSEED"] = "0"  # of the processes: numba's code depends on the order of sets
        try:
            with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
                list(pool.map(partial(_compile_module, levels=levels, folder=folder), names))
        except BrokenProcessPool as error:
            problem = "the kernels cannot be compiled: a process was killed"
            raise CapfstError(f"{problem}. Free 0.6 GB of memory for each processor.") from error
    for level, made in files.items():
        link(sorted(made), path_of(level))
    DIGESTS.write_text(json.dumps({kernel.name: kernel.digest for kernel in kernels}, indent=0), "utf-8")


if __name__ == "__main__":
    selected, own = os.environ.get("CAPFST_LEVELS", "").split(), own_level()
    if selected == ["all"]:
        selected = ["x86-64-v2", "x86-64-v3"] if own.startswith("x86-64") else [own]
    try:
        build(selected or [own], Path(sys.argv[1]).absolute())
    except (CapfstError, OSError) as error:
        sys.exit(f"error: {error}")
