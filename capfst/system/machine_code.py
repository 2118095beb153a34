"""Machine code in memory, as Python calls it.

In: the object file of a kernel, and how it is called, as compiling.py makes and kernel_cache.py keeps them. Out: a
function of the numbers in its arguments (`kernels.Kernel` finds these). LLVM loads the code; numba is not needed, but
for code that calls functions of numba's.
"""

from __future__ import annotations

import ctypes
import pickle
from functools import lru_cache
from typing import Any, NamedTuple

from llvmlite import binding

N_RESULTS = 8
"""Numbers that a kernel returns at most."""

_Results = ctypes.c_int64 * N_RESULTS


class Code(NamedTuple):
    """A kernel as it is kept."""

    name: str  # of its function in the object file
    arguments: str  # q (int64), Q (uint64) or d (float64) for each number
    results: str  # likewise, and ? (bool)
    is_tuple: bool  # whether it returns a tuple, not one number or nothing
    externals: tuple[str, ...]  # functions that it calls
    object_file: bytes


class _Error(ctypes.Structure):
    """Where numba has an exception, pickled."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_int32))


_TYPES: dict[str, Any] = {"q": ctypes.c_int64, "Q": ctypes.c_uint64, "d": ctypes.c_double, "?": ctypes.c_bool}


class Entry:
    """A kernel, loaded."""

    def __init__(self, code: Code) -> None:
        if not all(map(binding.address_of_symbol, code.externals)):
            from numba.core.registry import cpu_target  # noqa: PLC0415

            _ = cpu_target.target_context  # whose making brings what is called
        engine = _engine()
        engine.add_object_file(binding.ObjectFileRef.from_data(code.object_file))
        engine.finalize_object()
        types = [*map(_TYPES.__getitem__, code.arguments), ctypes.POINTER(ctypes.c_int64)]
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(engine.get_function_address(code.name))
        self._results = [(8 * k, _TYPES[result]) for k, result in enumerate(code.results)]
        self._is_tuple = code.is_tuple

    @classmethod
    def of(cls, data: bytes) -> Entry | None:
        """The kernel that `compiling` has made these bytes of; None if it says that numba has to call it."""
        return cls(Code(*pickle.loads(data))) if data else None

    def __call__(self, cells: list[Any]) -> Any:
        results = _Results()
        if self._call(*cells, results):
            error = _Error.from_address(results[0])
            exception, arguments, _ = pickle.loads(ctypes.string_at(error.data, error.size))
            raise exception(*(arguments or ()))
        values = tuple(type_.from_buffer(results, place).value for place, type_ in self._results)
        return values if self._is_tuple else values[0] if values else None


@lru_cache(1)
def _engine() -> Any:
    """What loads machine code, as numba does: for this processor, and where it may lie."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_triple(binding.get_process_triple())
    relocation = "static" if target.name.startswith("x86") else "pic" if target.name.startswith("ppc") else "default"
    machine = target.create_target_machine(reloc=relocation, codemodel="jitdefault", jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
