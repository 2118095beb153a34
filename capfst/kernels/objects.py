"""From kernels to machine code: object files, kept under what they were made of, and shared libraries.

LLVM compiles for every target on every machine. The C compiler and linker is `cc`, or the command in the variable CC,
which may be that of another system: CC="zig cc -target aarch64-linux-gnu.2.28".
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
from typing import Any

from capfst.exceptions import CapfstError
from capfst.kernels.declaration import Declaration, registry

TARGETS = {
    "x86-64-v2": ("x86_64-unknown-linux-gnu", "x86-64-v2"),
    "x86-64-v3": ("x86_64-unknown-linux-gnu", "x86-64-v3"),
    "aarch64": ("aarch64-unknown-linux-gnu", "generic"),
    "macos-aarch64": ("arm64-apple-macosx11.0.0", "apple-m1"),
    "windows-x86-64-v2": ("x86_64-pc-windows-gnu", "x86-64-v2"),
    "windows-x86-64-v3": ("x86_64-pc-windows-gnu", "x86-64-v3"),
}
"""What machine code is for: LLVM's names of a platform, and of the least processor. On Linux, glibc and musl take the
same."""
_OPTIONS = {
    ".so": ["-shared", "-s", "-Wl,--gc-sections", "-Wl,--no-undefined"],
    ".dylib": ["-dynamiclib", "-Wl,-dead_strip,-S,-x"],
    ".dll": ["-shared", "-s", "-static-libgcc"],
}
"""For the linkers of Linux, macOS and Windows."""
_HERE = Path(__file__).parent


class BuildError(CapfstError):
    """Kernels cannot be built: why, and what to do."""


def object_file(kernel: Declaration, level: str, folder: Path) -> Path:
    """Return where the machine code of a kernel is kept."""
    key = hashlib.blake2b(f"{kernel.digest} {_tools()}".encode(), digest_size=8).hexdigest()
    return folder / f"{kernel.symbol}-{level}-{key}.o"


@lru_cache(1)
def _tools() -> str:
    """Return the versions and sources that machine code depends on, besides the kernel."""
    names = "types.py", "entries.py", "intrinsics.py", "objects.py", "arrays.c"
    made_by = [(_HERE / name).read_bytes() for name in names]
    return f"{version('numba')} {version('llvmlite')} {sys.version} {made_by}"


def compile_kernel(kernel: Declaration, levels: Sequence[str], folder: Path) -> None:
    """Make the object files of a kernel that are not there."""
    missing = [level for level in levels if not object_file(kernel, level, folder).exists()]
    if missing:
        from capfst.kernels import entries  # noqa: PLC0415  (numba takes a second)

        entry = entries.entry(kernel)
        for level in missing:
            file = object_file(kernel, level, folder)
            temporary = file.with_suffix(f".{os.getpid()}")
            temporary.write_bytes(_emit(entry.symbol, entry.code, kernel.symbol, level))
            temporary.replace(file)


def _emit(symbol: str, code: str, name: str, level: str) -> bytes:
    """Optimize the function `symbol` with all that it calls; return an object file, in which it is `name`."""
    from llvmlite import binding  # noqa: PLC0415  (as above)

    names = [kernel.name.split(".") for kernel in registry if kernel.is_inlined is False]
    # As numba calls them; should it do otherwise, kernels become slower, not wrong.
    outlined = ["".join(f"{len(part)}{part}" for part in name) + "B" for name in names]
    code = re.sub(r"^target .*$", "", code, flags=re.M)
    code = re.sub(r"\bnoinline\b", "nounwind", code)  # of numba's, in entries: it hides that these catch all exceptions
    machine, module = _machine(level), binding.parse_assembly(code)
    module.triple, module.data_layout = TARGETS[level][0], str(machine.target_data)
    for item in (*module.functions, *module.global_variables):
        if item.name == symbol:
            item.name = name
        elif not item.is_declaration:
            if item.is_function and any(part in item.name for part in outlined):
                item.add_function_attribute("noinline")
            item.linkage, item.name = "internal", ""  # numba's names count what a process has compiled
    tuning = binding.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    if re.search(r"inttoptr \(i64 \d", str(module)):
        raise BuildError(f"{name} names an array of more than 1 MB, whose address would be in its code: pass the array")
    return bytes(machine.emit_object(module))


@lru_cache(None)
def _machine(level: str) -> Any:
    from llvmlite import binding  # noqa: PLC0415  (as above)

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    triple, cpu = TARGETS[level]
    return binding.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default")


def compiler() -> list[str]:
    """Return the command of the C compiler. BuildError: there is none."""
    command = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if not shutil.which(command[0]):
        remedy = "install gcc (on Debian and Ubuntu: apt-get install gcc), or set CC"
        raise BuildError(f"there is no C compiler {command[0]}: {remedy}")
    return command


def link(files: Sequence[Path], library: Path) -> None:
    """Link object files into a library, which appears complete or not at all."""
    options = [*_OPTIONS[library.suffix], "-fPIC", "-O2"]
    if library.suffix == ".dylib":
        options.append(f"-Wl,-install_name,@rpath/{library.name}")  # else the name of a temporary folder
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        made, listed = Path(folder, library.name), Path(folder, "files")
        listed.write_text("\n".join(f'"{file.as_posix()}"' for file in files), "utf-8")  # a command line has limits
        command = [*compiler(), *options, "-o", str(made), str(_HERE / "arrays.c"), f"@{listed}", "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildError(f"the kernels cannot be linked: {command[0]} says:\n{done.stderr.strip()}")
        made.replace(library)
