"""Compile kernels by numba and LLVM: from annotated functions to machine code.

numba's decorator `njit` compiles what kernels call, and `cfunc` the entries: C functions that Python calls (_call.c).
numba optimizes nothing here; LLVM optimizes each entry with all that it calls. `_index` and `_compile_only` replace
functions of numba.
"""

from __future__ import annotations

import gc
import os
import re
from functools import lru_cache
from typing import Any, TypeVar, get_args, get_origin

os.environ.setdefault("NUMBA_OPT", "0")  # before numba is imported

from llvmlite import binding
from numba import cfunc, njit, types
from numba.core import codegen
from numba.core.types import BaseTuple  # type: ignore[attr-defined]
from numba.extending import typeof_impl
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype

from capfst.exceptions import CapfstError
from capfst.kernels import intrinsics
from capfst.kernels.function import OUTLINED, Kernel
from capfst.kernels.types import Array, Record, fields, hints, i64, mark, struct

CAPACITY = 8192  # of all arguments, in bytes: as in _call.c
TRIPLES = {"linux": "unknown-linux-gnu", "darwin": "apple-macosx11.0.0", "win32": "pc-windows-gnu"}
"""LLVM's names of systems. The machine code is the same for glibc and musl."""
_OPTIONS = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _index(context: Any, builder: Any, index_type: Any, index: Any, size: Any) -> Any:
    """Return an index as it is; numba adds code that would let it count from the end.

    Without this code, `capfst recase` takes 0.97 of the CPU time. No option of numba omits it. If a later numba no
    longer calls this function, kernels become slower, not wrong.
    """
    return context.cast(builder, index, index_type, types.intp)


arrayobj.fix_integer_index = _index


def _compile_only() -> None:
    """Make numba return LLVM's code alone: it also makes machine code of each function, and loads it.

    Without this, a build takes 1.3 times as long. No option of numba omits it. If a later numba no longer calls these
    methods, builds become slower; the machine code is the same.
    """
    codegen.JITCodeLibrary._finalize_specific = lambda library: None
    codegen.JITCodeLibrary.get_pointer_to_function = lambda library, name: library._ensure_finalized() or 0
    codegen.JITCPUCodegen.set_env = lambda all_code, name, environment: None


_compile_only()
gc.freeze()
gc.set_threshold(100_000, 50, 100)  # numba makes many objects that live long


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel[..., Any], context: Any) -> Any:
    return typeof_impl(dispatcher(kernel), context)


@typeof_impl.register(type(i64))
def _type_of_number(alias: Any, context: Any) -> Any:
    return types.NumberClass(from_dtype(get_args(alias)[1]))


@lru_cache(None)
def dispatcher(kernel: Kernel[..., Any]) -> Any:
    """Return numba's form of a kernel, compiled for its annotations or, if these have a TypeVar, for each call."""
    *parameters, result = hints(kernel.py_func).values()
    # Without `_nrt`, numba does not count references to arrays; its atomic operations are slow.
    options = _OPTIONS | {"_nrt": kernel.allocates, "forceinline": kernel.is_inlined is True}
    if any(isinstance(hint, TypeVar) for hint in parameters):
        return njit(**options)(kernel.py_func)
    return njit(numba_type(result)(*map(numba_type, parameters)), **options)(kernel.py_func)


def numba_type(hint: Any) -> Any:
    """Return the numba type of an annotation."""
    if hint is type(None):
        return types.void
    if (parts := fields(hint)) is not None:
        return BaseTuple.from_types(tuple(map(numba_type, parts.values())), get_origin(hint) or hint)
    kind = mark(hint)
    if isinstance(kind, Array):
        return types.Array(from_dtype(kind.dtype), kind.ndim, "A" if kind.is_strided else "C")
    return from_dtype(kind.dtype if isinstance(kind, Record) else kind)


@lru_cache(1)
def entry(kernel: Kernel[..., Any]) -> tuple[str, str]:
    """Compile the entry of a kernel; return its name and LLVM code."""
    parameters = hints(kernel.py_func)
    result = numba_type(parameters.pop("return"))
    if struct(parameters).itemsize > CAPACITY:
        raise TypeError(f"the arguments of {kernel.name} take more than {CAPACITY} bytes")
    function, load, store = dispatcher(kernel), intrinsics.load, intrinsics.store

    def entry(arguments: Any, results: Any) -> int:
        try:
            value = function(*load(arguments))
        except Exception:
            return 1
        store(value, results)
        return 0

    arguments = types.Tuple(tuple(map(numba_type, parameters.values())))
    signature = types.int32(types.CPointer(arguments), types.CPointer(result))
    compiled = cfunc(signature, forceinline=True, **_OPTIONS)(entry)
    return compiled.native_name, compiled.inspect_llvm()


def machine_code(kernel: Kernel[..., Any], level: str, system: str) -> bytes:
    """Return an object file with the kernel's entry, optimized for processors of a level."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    is_x86 = level.startswith("x86-64")
    target = binding.Target.from_triple(f"{'x86_64' if is_x86 else level}-{TRIPLES[system]}")
    cpu = level if is_x86 else "generic"
    machine = target.create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default")
    symbol, code = entry(kernel)
    code = re.sub(r"^target .*$", "", code, flags=re.M)
    code = re.sub(r"\bnoinline\b", "nounwind", code)  # numba keeps entries apart from what they call in `try`
    module = binding.parse_assembly(code)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    for item in (*module.functions, *module.global_variables):
        if item.name == symbol:
            item.name = kernel.symbol
        elif not item.is_declaration:
            if item.is_function and f"{OUTLINED}B" in item.name:
                item.add_function_attribute("noinline")
            item.linkage, item.name = "internal", ""  # numba's names count what a process has compiled
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.slp_vectorization = True
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    if re.search(r"inttoptr \(i64 \d", str(module)):
        raise CapfstError(f"{kernel.name} contains the address of an array of more than 1 MB. Pass it as an argument.")
    return bytes(machine.emit_object(module))
