"""Machine code in memory, as Python calls it.

In: the object file of a kernel, as compiling.py makes and kernel_cache.py keeps it, and what its function expects
(entry.py). Out: a function of arguments, which `kernels.Kernel` calls; it says if they are not of its types. LLVM loads
the code; numba is not needed, but for code that calls functions of numba's.
"""

from __future__ import annotations

import ctypes
import pickle
from functools import lru_cache
from typing import Any, NamedTuple

from llvmlite import binding

_FUNCTION = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object)


class Code(NamedTuple):
    """A kernel as it is kept."""

    name: str  # of its function in the object file
    externals: tuple[str, ...]  # functions that it calls
    object_file: bytes


class Entry(NamedTuple):
    """A kernel for arguments of certain types."""

    function: Any
    expected: tuple[Any, ...]

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """What the kernel returns; NotImplemented for arguments of other types."""
        result = self.function(self.expected, args)
        if type(result) is bytes:
            exception, arguments, _ = pickle.loads(result)
            raise exception(*(arguments or ()))
        return result


def load(data: bytes) -> Any:
    """The function that `compiling` has made these bytes of; None if it says that numba has to call the kernel."""
    if not data:
        return None
    code, engine = Code(*pickle.loads(data)), _engine()
    if not all(map(binding.address_of_symbol, code.externals)):
        from numba.core.registry import cpu_target  # noqa: PLC0415

        _ = cpu_target.target_context  # whose making brings what is called
    engine.add_object_file(binding.ObjectFileRef.from_data(code.object_file))
    engine.finalize_object()
    return _FUNCTION(engine.get_function_address(code.name))


@lru_cache(1)
def _engine() -> Any:
    """What loads machine code, as numba does: for this processor, and where it may lie."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_triple(binding.get_process_triple())
    relocation = "static" if target.name.startswith("x86") else "pic" if target.name.startswith("ppc") else "default"
    machine = target.create_target_machine(reloc=relocation, codemodel="jitdefault", jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
