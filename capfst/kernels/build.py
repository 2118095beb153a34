"""Compile all kernels into libraries: lib/x86-64-v3.so and the like.

In: the modules of capfst. Out: in kernels/lib, a library for each level, and digests.json, which says what it was built
from. Only kernels that have changed are compiled. Processes share them, module by module; the same sources give the
same bytes, however many processes there are.

    python -m capfst.kernels.build [--objects FOLDER] [LEVEL …]

LEVEL is one of `objects.TARGETS`; `all` stands for those of this machine's system and architecture; without any, it
is this machine's own.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

from capfst.kernels import library, objects
from capfst.kernels.declaration import Declaration, registry

_PACKAGE = Path(__file__).parents[1]


def build(levels: Sequence[str], folder: Path) -> None:
    """Build the libraries of these levels. folder: where object files are kept. BuildError: they cannot be built."""
    objects.compiler()  # which is missing now, not after a minute
    folder.mkdir(parents=True, exist_ok=True)
    library.FOLDER.mkdir(exist_ok=True)
    # Large modules take longest.
    paths = sorted(_PACKAGE.rglob("*.py"), key=lambda path: (-path.stat().st_size, path))
    names = [
        ".".join(("capfst", *path.relative_to(_PACKAGE).with_suffix("").parts)) for path in paths if _has_kernels(path)
    ]
    kernels = [kernel for name in names for kernel in _kernels(name)]
    files = {level: [objects.object_file(kernel, level, folder) for kernel in kernels] for level in levels}
    missing = sum(not file.exists() for made in files.values() for file in made)
    if missing:
        print(f"compiling {missing} of {len(kernels) * len(levels)} kernels", flush=True)
        os.environ["PYTHONHASHSEED"] = "0"  # of the processes: numba goes through sets, and code depends on the order
        try:
            with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
                list(pool.map(partial(_compile, levels=levels, folder=folder), names))
        except BrokenProcessPool as error:
            advice = "a process was killed: free 0.6 GB of memory for each processor"
            raise objects.BuildError(f"the kernels cannot be compiled: {advice}") from error
    for level, made in files.items():
        objects.link(sorted(made), library.path_of(level))
    library.DIGESTS.write_text(json.dumps({kernel.name: kernel.digest for kernel in kernels}, indent=0), "utf-8")


def _has_kernels(path: Path) -> bool:
    return path.parent.name != "kernels" and bool(
        re.search("^from capfst.kernels import", path.read_text("utf-8"), re.M)
    )


def _kernels(module: str) -> list[Declaration]:
    """Return the kernels of a module that Python calls."""
    importlib.import_module(module)
    return [kernel for kernel in registry if kernel.is_entry and kernel.py_func.__module__ == module]


def _compile(module: str, levels: Sequence[str], folder: Path) -> None:
    for kernel in _kernels(module):
        objects.compile_kernel(kernel, levels, folder)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m capfst.kernels.build", description="Compile all kernels.")
    parser.add_argument("levels", nargs="*", metavar="LEVEL", help=f"{', '.join(objects.TARGETS)}; or all")
    parser.add_argument("--objects", type=Path, default=Path("build", "kernels"), help="folder to keep object files in")
    options, own = parser.parse_args(), library.level()
    levels = options.levels or [own]
    if levels == ["all"]:
        levels = [level for level in objects.TARGETS if level.split("-v")[0] == own.split("-v")[0]]
    if unknown := [level for level in levels if level not in objects.TARGETS]:
        parser.error(f"no kernels can be built for {unknown[0]}: choose from {', '.join(objects.TARGETS)}")
    try:
        build(levels, options.objects.absolute())
    except (objects.BuildError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
