"""Compile all kernels into libraries: lib/x86-64-v3.so and the like.

In: the modules of capfst. Out: in kernels/lib, a library for each level, and digests.json, which says what it was built
from. Object files are kept under the digests of their kernels, so that only what has changed is compiled again.
Processes share the kernels, module by module; the same sources give the same bytes, however many processes there are.

    python -m capfst.kernels.build [--objects FOLDER] [LEVEL …]

LEVEL is x86-64-v2, x86-64-v3 or aarch64; `all` stands for those of this machine's architecture; without any, it is this
machine's own.
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
from pathlib import Path
from typing import NamedTuple

from capfst.kernels import declaration, entries, library, objects

_PACKAGE = Path(__file__).parents[1]
_OBJECTS = Path("build", "kernels")
_MEMORY = 400 << 20  # bytes that a process takes


class _Item(NamedTuple):
    """An entry to be made."""

    name: str
    digest: str


_GIVE_BACK = _Item("give_back", "")


def build(levels: Sequence[str], folder: Path) -> None:
    """Build the libraries of these levels. folder: where object files are kept. BuildError: they cannot be built."""
    levels = _named(levels)
    objects.compiler()  # now, not after a minute
    items = {module: _items(module) for module in [*_modules(), ""]}
    missing = [
        module
        for module, found in items.items()
        if not all(objects.path(folder, *item, level).exists() for item in found for level in levels)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    if missing:
        n_processes = max(1, min(len(missing), os.cpu_count() or 1, _free_memory() // _MEMORY))
        print(f"compiling the kernels of {len(missing)} modules in {n_processes} processes", flush=True)
        with multiprocessing.get_context("spawn").Pool(n_processes) as pool:
            pool.starmap(_compile, [(module, levels, folder) for module in missing], chunksize=1)
    library.FOLDER.mkdir(exist_ok=True)
    for level in levels:
        files = sorted(objects.path(folder, *item, level) for found in items.values() for item in found)
        objects.link(files, library.FOLDER / f"{level}{library.SUFFIX}")
    digests = {kernel.name: kernel.digest for kernel in declaration.registry if kernel.is_entry}
    library.DIGESTS.write_text(json.dumps(digests, indent=0, sort_keys=True), "utf-8")


def _named(levels: Sequence[str]) -> Sequence[str]:
    own = library.level()
    if list(levels) == ["all"]:
        levels = [level for level in objects.TARGETS if level.split("-v")[0] == own.split("-v")[0]]
    levels = levels or [own]
    if unknown := [level for level in levels if level not in objects.TARGETS]:
        raise objects.BuildError(f"kernels cannot be built for {unknown[0]}, only for {', '.join(objects.TARGETS)}")
    return levels


def _modules() -> list[str]:
    """Return the modules that have kernels, the largest first, as they take longest."""
    return [
        ".".join(("capfst", *path.relative_to(_PACKAGE).with_suffix("").parts))
        for path in sorted(_PACKAGE.rglob("*.py"), key=lambda path: (-path.stat().st_size, path))
        if path.parent.name != "kernels" and re.search("^from capfst.kernels import", path.read_text("utf-8"), re.M)
    ]


def _kernels(module: str) -> list[declaration.Declaration]:
    """Return the kernels of a module that Python calls."""
    importlib.import_module(module)
    return [kernel for kernel in declaration.registry if kernel.is_entry and kernel.__module__ == module]


def _items(module: str) -> list[_Item]:
    if not module:
        return [_GIVE_BACK]
    return [
        _Item(specialization.name, kernel.digest)
        for kernel in _kernels(module)
        for specialization in kernel.specializations()
    ]


def _compile(module: str, levels: Sequence[str], folder: Path) -> None:
    """Make the object files of a module's entries."""
    if not module:
        made = [(_GIVE_BACK, entries.give_back())]
    else:
        made = [
            (_Item(specialization.name, kernel.digest), entries.entry(kernel, specialization))
            for kernel in _kernels(module)
            for specialization in kernel.specializations()
        ]
    for item, entry in made:
        for level in levels:
            objects.emit(*entry, item.name, level, objects.path(folder, *item, level))


def _free_memory() -> int:
    """Return how many bytes of memory are free; many if the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 1 << 40


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m capfst.kernels.build", description="Compile all kernels.")
    parser.add_argument("levels", nargs="*", metavar="LEVEL", help=f"{', '.join(objects.TARGETS)}; or all")
    parser.add_argument("--objects", type=Path, default=_OBJECTS, help="folder to keep object files in")
    options = parser.parse_args()
    try:
        build(options.levels, options.objects.absolute())
    except objects.BuildError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
