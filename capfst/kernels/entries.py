"""From annotations to LLVM's language, by numba: kernels as its dispatchers, and their entries as C functions.

Only numba's public decorators compile: `njit` what kernels call, `cfunc` what Python calls. One function of numba's is
replaced (see `_index`). The code is not optimized yet: objects.py does that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

os.environ.setdefault("NUMBA_OPT", "0")  # before numba is imported: what it compiles is not run

import numpy as np
from numba import carray, cfunc, njit, types
from numba.core.types import BaseTuple  # type: ignore[attr-defined]
from numba.extending import typeof_impl
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype

from capfst.kernels import intrinsics
from capfst.kernels.declaration import Declaration
from capfst.kernels.types import Array, Record, hints, i64, items, leaves, mark

SLOTS = 256  # as in _call.c
_OPTIONS = {"error_model": "numpy"}
_SLOTS = types.CPointer(types.int64), types.CPointer(types.float64), types.CPointer(types.voidptr)


def _index(context: Any, builder: Any, index_type: Any, index: Any, size: Any) -> Any:
    """Return an index as it is. numba adds to each a check whether it counts from the end; in kernels none does, and
    without the check they take 0.84 of the time. Should numba no longer call this function, kernels become slower, not
    wrong; its public options have nothing for it."""
    return context.cast(builder, index, index_type, types.intp)


arrayobj.fix_integer_index = _index


@typeof_impl.register(Declaration)
def _type_of_kernel(kernel: Declaration, context: Any) -> Any:
    return typeof_impl(dispatcher(kernel), context)


@typeof_impl.register(type(i64))
def _type_of_number(alias: Any, context: Any) -> Any:
    return types.NumberClass(from_dtype(get_args(alias)[1]))


@lru_cache(None)
def dispatcher(kernel: Declaration) -> Any:
    """Return what kernels call: compiled for the kernel's annotations, or, if these have a TypeVar, for each call."""
    *parameters, result = hints(kernel.py_func).values()
    # Without `_nrt`, references to arrays are not counted, which would be atomic.
    options = _OPTIONS | {"_nrt": kernel.allocates, "forceinline": kernel.is_inlined is True}
    options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    if any(isinstance(hint, TypeVar) for hint in parameters):
        return njit(**options)(kernel.py_func)
    return njit(numba_type(result)(*map(numba_type, parameters)), **options)(kernel.py_func)


def numba_type(hint: Any) -> Any:
    """Return the type that an annotation stands for."""
    if hint is type(None):
        return types.void
    if (parts := items(hint)) is not None:
        return BaseTuple.from_types(tuple(map(numba_type, parts.values())), get_origin(hint) or hint)
    found = mark(hint)
    if isinstance(found, Array):
        return types.Array(from_dtype(found.dtype), found.ndim, "A" if found.is_strided else "C")
    return from_dtype(found.dtype if isinstance(found, Record) else found)


class Entry(NamedTuple):
    symbol: str
    code: str  # LLVM's language
    address: int  # of what numba itself has made of it, in this process


def entry(kernel: Declaration) -> Entry:
    """Return the C function that calls a kernel; _call.c has its conventions."""
    *parameters, result = hints(kernel.py_func).values()
    names = {"kernel": dispatcher(kernel), "carray": carray, "hand_over": intrinsics.hand_over}
    names["as_strided"] = np.lib.stride_tricks.as_strided
    slots = count()
    arguments = [_read(hint, slots, names) for hint in parameters]
    if next(slots) > SLOTS:
        raise TypeError(f"{kernel.name} needs more than {SLOTS} slots")
    body = [
        "def entry(i, f, p):",
        *(f" a{k} = {argument}" for k, argument in enumerate(arguments)),
        " try:",  # around no more than this: numba takes long to compile what is in it
        f"  r = kernel({', '.join(f'a{k}' for k in range(len(arguments)))})",
        " except Exception:",
        "  return 1",
        *_written(result),
        " return 0",
    ]
    exec("\n".join(body), names)
    function = cfunc(types.int32(*_SLOTS), forceinline=True, **_OPTIONS)(names["entry"])
    return Entry(function.native_name, function.inspect_llvm(), function.address)


def _read(hint: Any, slots: Iterator[int], names: dict[str, Any]) -> str:
    """Return the expression that makes an argument of the next slots; `names` gets what it names."""
    if (parts := items(hint)) is not None:
        values = "".join(f"{_read(part, slots, names)}, " for part in parts.values())
        if get_origin(hint):
            return f"({values})"
        name = f"tuple{len(names)}"
        names[name] = hint
        return f"{name}({values})"
    (leaf,), k = leaves(hint), next(slots)
    names[leaf.dtype.name] = leaf.dtype.type
    if not leaf.ndim:
        return f"{leaf.dtype.name}({'f' if leaf.dtype.kind == 'f' else 'i'}[{k}])"
    names[f"dtype{k}"] = leaf.dtype
    shape, strides = ("".join(f"i[{next(slots)}], " for _ in range(leaf.ndim * n)) for n in (1, leaf.is_strided))
    array = f"carray(p[{k}], ({shape}), dtype{k})"
    return f"as_strided({array}, ({shape}), ({strides}))" if leaf.is_strided else array


def _written(hint: Any) -> Iterator[str]:
    """Yield the statements that put a result in slots."""
    slots = count()
    for leaf in leaves(hint) if hint is not type(None) else ():
        value, k = f"r{leaf.name if leaf.name else ''}", next(slots)
        if leaf.ndim:
            yield f" i[{k}], i[{next(slots)}] = hand_over({value}), {value}.ctypes.data"
            yield from (f" i[{next(slots)}] = {value}.shape[{axis}]" for axis in range(leaf.ndim))
        else:
            yield f" {'f' if leaf.dtype.kind == 'f' else 'i'}[{k}] = {value}"
