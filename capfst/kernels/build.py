"""Compile all kernels into libraries: annotations → numba's LLVM code → object files → lib/*.so.

In: the modules of capfst. Out: in kernels/lib, a library for each level, and digests.json, which says what it was built
from. An object file stays in build/kernels under the digest of its kernel, so that only what has changed is compiled
again. Processes share the kernels, module by module; the same sources give the same bytes, however many they are.

    python -m capfst.kernels.build [--objects FOLDER] [LEVEL …]

LEVEL is x86-64-v2, x86-64-v3 or aarch64; `all` stands for those of this machine's architecture; without any, it is this
machine's own. The compiler and linker for C is `cc`, or what the variable CC names.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import multiprocessing
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("NUMBA_OPT", "0")  # what numba compiles need not be fast: LLVM optimizes each entry as a whole

import llvmlite
import numba
from llvmlite import binding

from capfst.kernels import declaration, jit, library

_HERE = Path(__file__).parent
_PACKAGE = _HERE.parent
_OBJECTS = Path("build", "kernels")
_MEMORY = 400 << 20  # bytes that a process takes
_JIT = jit.__name__  # a module, too, though it has no kernel: only `give_back`


class Target(NamedTuple):
    """What machine code is for."""

    triple: str
    cpu: str


TARGETS = {
    "x86-64-v2": Target("x86_64-unknown-linux-gnu", "x86-64-v2"),
    "x86-64-v3": Target("x86_64-unknown-linux-gnu", "x86-64-v3"),
    "aarch64": Target("aarch64-unknown-linux-gnu", "generic"),
}


class BuildError(Exception):
    """Kernels cannot be built; one line that says why, and what to do."""


def build(levels: Sequence[str], objects: Path) -> None:
    """Build the libraries of these levels. objects: where object files are kept."""
    own = library.level()
    if not levels:
        levels = [own]
    elif levels == ["all"]:
        levels = [level for level in TARGETS if level.split("-v")[0] == own.split("-v")[0]]
    if unknown := [level for level in levels if level not in TARGETS]:
        raise BuildError(f"kernels cannot be built for {unknown[0]}: choose from {', '.join(TARGETS)}")
    compiler = _compiler()
    entries = {module: _entries(module) for module in [*_modules(), _JIT]}
    missing = [module for module, names in entries.items() if _missing(objects, names, levels)]
    if missing:
        n_processes = max(1, min(len(missing), os.cpu_count() or 1, _free_memory() // _MEMORY))
        print(f"compiling the kernels of {len(missing)} modules in {n_processes} processes", flush=True)
        objects.mkdir(parents=True, exist_ok=True)
        with multiprocessing.get_context("spawn").Pool(n_processes) as pool:
            pool.starmap(_compile, [(objects, module, levels) for module in missing], chunksize=1)
    library.FOLDER.mkdir(exist_ok=True)
    for level in levels:
        objects = sorted(_object(objects, *entry, level) for names in entries.values() for entry in names.items())
        _link(compiler, objects, library.FOLDER / f"{level}{library.SUFFIX}")
    digests = {kernel.name: kernel.digest for kernel in declaration.registry if kernel.is_entry}
    library.DIGESTS.write_text(json.dumps(digests, indent=0, sort_keys=True), "utf-8")


def _modules() -> list[str]:
    """Return the modules that have kernels, the largest first, as they take longest."""
    return [
        ".".join(("capfst", *path.relative_to(_PACKAGE).with_suffix("").parts))
        for path in sorted(_PACKAGE.rglob("*.py"), key=lambda path: (-path.stat().st_size, path))
        if re.search(r"^from capfst\.kernels import", path.read_text("utf-8"), re.M) and path.parent != _HERE
    ]


def _entries(module: str) -> dict[str, str]:
    """Return the digests of a module's entries, by name."""
    importlib.import_module(module)
    if module == _JIT:
        return {"give_back": ""}
    return {
        specialization.name: kernel.digest
        for kernel in declaration.registry
        if kernel.is_entry and kernel.__module__ == module
        for specialization in kernel.specializations()
    }


def _missing(objects: Path, names: dict[str, str], levels: Sequence[str]) -> bool:
    return not all(_object(objects, *entry, level).exists() for entry in names.items() for level in levels)


def _object(objects: Path, name: str, digest: str, level: str) -> Path:
    """Return where the object file of an entry is kept."""
    key = hashlib.blake2b(f"{digest} {_tools()}".encode(), digest_size=8).hexdigest()
    return objects / f"{name}-{level}-{key}.o"


@lru_cache(1)
def _tools() -> str:
    """What object files are made by."""
    sources = b"".join(path.read_bytes() for path in sorted(_HERE.glob("*.py")))
    return f"{numba.__version__} {llvmlite.__version__} {sys.version} {hashlib.blake2b(sources).hexdigest()}"


def _compile(objects: Path, module: str, levels: Sequence[str]) -> None:
    """Make the object files of a module's entries."""
    importlib.import_module(module)
    if module == _JIT:
        _emit(objects, jit.give_back(), "give_back", "", levels)
    for kernel in list(declaration.registry):
        if kernel.is_entry and kernel.__module__ == module:
            for specialization in kernel.specializations():
                _emit(objects, jit.entry(kernel, specialization), specialization.name, kernel.digest, levels)


def _emit(objects: Path, entry: Any, name: str, digest: str, levels: Sequence[str]) -> None:
    """Optimize an entry with all that it calls, for each level, and write its object files."""
    code = entry.inspect_llvm()
    for level in levels:
        machine = _machine(level)
        module = binding.parse_assembly(re.sub(r"^target .*$", "", code, flags=re.M))
        module.triple, module.data_layout = TARGETS[level].triple, str(machine.target_data)
        for symbol in (*module.functions, *module.global_variables):
            if symbol.name == entry.native_name:
                symbol.name = name
            elif not symbol.is_declaration:
                symbol.linkage = "internal"
        tuning = binding.create_pipeline_tuning_options(speed_level=3)
        tuning.loop_vectorization = tuning.slp_vectorization = True
        builder = binding.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
        module.verify()
        if re.search(r"inttoptr \(i64 \d", str(module)):
            raise BuildError(f"{name}: its code has an address of this process, as of a large array that it names")
        path = _object(objects, name, digest, level)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(machine.emit_object(module))
        temporary.replace(path)


@lru_cache(None)
def _machine(level: str) -> Any:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    triple, cpu = TARGETS[level]
    return binding.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default")


def _compiler() -> list[str]:
    """Return the command of the C compiler."""
    command = shlex.split(os.environ.get("CC", "cc"))
    if not command or not shutil.which(command[0]):
        raise BuildError("there is no C compiler: install gcc (on Debian and Ubuntu: apt-get install gcc), or set CC")
    return command


def _link(compiler: Sequence[str], objects: Sequence[Path], library_path: Path) -> None:
    """Link object files into a library, which appears complete or not at all."""
    options = ["-shared", "-fPIC", "-O2", "-s", "-Wl,--gc-sections", "-Wl,--no-undefined"]
    with tempfile.TemporaryDirectory(dir=library_path.parent) as folder:
        made = Path(folder, library_path.name)
        listed = Path(folder, "objects")  # too many for the command line of some systems
        listed.write_text("\n".join(f'"{path.as_posix()}"' for path in objects), "utf-8")
        command = [*compiler, *options, "-o", str(made), str(_HERE / "arrays.c"), f"@{listed}", "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"{shlex.join(compiler)} cannot link the kernels:\n{done.stderr.strip()}")
        made.replace(library_path)


def _free_memory() -> int:
    """Return how many bytes of memory are free; many if the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 1 << 40


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m capfst.kernels.build", description="Compile all kernels.")
    parser.add_argument("levels", nargs="*", metavar="LEVEL", help=f"{', '.join(TARGETS)}; or all")
    parser.add_argument("--objects", type=Path, default=_OBJECTS, help="folder to keep object files in")
    options = parser.parse_args()
    try:
        build(options.levels, options.objects.absolute())
    except BuildError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
