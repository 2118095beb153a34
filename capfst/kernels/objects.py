"""From LLVM's language to machine code: object files, kept by what they were made of, and shared libraries.

The compiler and linker for C is `cc`, or what the variable CC names.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

_HERE = Path(__file__).parent
_SOURCES = "types.py", "declaration.py", "entries.py", "intrinsics.py", "objects.py", "arrays.c"
"""What machine code is made by, numba and LLVM aside."""


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
    """Kernels cannot be built; says why in a line, and what to do."""


def path(folder: Path, name: str, digest: str, level: str) -> Path:
    """Return where the object file of an entry is kept; digest: of its kernel."""
    key = hashlib.blake2b(f"{digest} {_tools()}".encode(), digest_size=8).hexdigest()
    return folder / f"{name}-{level}-{key}.o"


@lru_cache(1)
def _tools() -> str:
    sources = b"".join((_HERE / name).read_bytes() for name in _SOURCES)
    checks = os.environ.get("NUMBA_BOUNDSCHECK", "")
    return f"{version('numba')} {version('llvmlite')} {sys.version} {checks} {hashlib.blake2b(sources).hexdigest()}"


def emit(symbol: str, code: str, name: str, level: str, file: Path) -> None:
    """Write an object file: the function `symbol` of the code, called `name`, optimized with all that it calls."""
    from llvmlite import binding  # noqa: PLC0415  (here alone: what is kept is linked without it)

    machine = _machine(level)
    module = binding.parse_assembly(re.sub(r"^target .*$", "", code, flags=re.M))
    module.triple, module.data_layout = TARGETS[level].triple, str(machine.target_data)
    for item in (*module.functions, *module.global_variables):
        if item.name == symbol:
            item.name = name
        elif not item.is_declaration:
            item.linkage = "internal"
    tuning = binding.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    module.verify()
    if re.search(r"inttoptr \(i64 \d", str(module)):
        raise BuildError(f"{name}: its code has an address of this process, as of a large array that it names")
    temporary = file.with_suffix(f".{os.getpid()}")
    temporary.write_bytes(machine.emit_object(module))
    temporary.replace(file)


@lru_cache(None)
def _machine(level: str) -> Any:
    from llvmlite import binding  # noqa: PLC0415  (as above)

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    triple, cpu = TARGETS[level]
    return binding.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default")


def compiler() -> list[str]:
    """Return the command of the C compiler. BuildError: there is none."""
    command = shlex.split(os.environ.get("CC", "cc"))
    if not command or not shutil.which(command[0]):
        raise BuildError("there is no C compiler: install gcc (on Debian and Ubuntu: apt-get install gcc), or set CC")
    return command


def link(objects: Sequence[Path], library: Path) -> None:
    """Link object files into a library, which appears complete or not at all."""
    command = [*compiler(), "-shared", "-fPIC", "-O2", "-s", "-Wl,--gc-sections", "-Wl,--no-undefined"]
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        made, listed = Path(folder, library.name), Path(folder, "objects")
        listed.write_text("\n".join(f'"{file.as_posix()}"' for file in objects), "utf-8")  # a command line has limits
        command += ["-o", str(made), str(_HERE / "arrays.c"), f"@{listed}", "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"the kernels cannot be linked: {shlex.join(command[:1])} says:\n{done.stderr.strip()}")
        made.replace(library)
