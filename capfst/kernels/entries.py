"""From annotations to LLVM's language, by numba: kernels as its dispatchers, and their entries as C functions.

In: kernels, and the types for which Python calls them. Out: the LLVM code of each entry with all that it calls, not
optimized yet (objects.py does that). Only numba's public decorators compile: `njit` what kernels call, `cfunc` what
Python calls. One function of numba's is replaced (see `_index`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple, get_args

os.environ.setdefault("NUMBA_OPT", "0")  # before numba is imported: what it compiles is not run

import numpy as np
from numba import carray, cfunc, njit, types
from numba.core.types import BaseTuple  # type: ignore[attr-defined]
from numba.extending import typeof_impl
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype

from capfst.kernels import intrinsics
from capfst.kernels.declaration import Declaration, Specialization
from capfst.kernels.types import Array, Layout, Record, Tuple, i64, layouts

_OPTIONS: dict[str, Any] = {"error_model": "numpy"}
SLOTS = 256  # of an entry, as in _call.c


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
    """Return what kernels call: compiled for the kernel's annotations; if these have a TypeVar, when it is called."""
    arguments, result = layouts(kernel.py_func)
    options = _OPTIONS | {
        "_nrt": kernel.allocates,  # without it, references to arrays are not counted, which would be atomic
        "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": kernel.is_inlined
    }  # fmt: skip
    if any(arguments.variables()):
        return njit(**options)(kernel.py_func)
    return njit(numba_type(result)(*map(numba_type, arguments.items)), **options)(kernel.py_func)


def numba_type(layout: Layout) -> Any:
    """Return numba's type of a layout."""
    match layout:
        case None:
            return types.void
        case Array():
            return types.Array(from_dtype(layout.dtype), layout.ndim, "A" if layout.is_strided else "C")
        case Record():
            return from_dtype(layout.dtype)
        case Tuple():
            return BaseTuple.from_types(tuple(map(numba_type, layout.items)), layout.kind)
        case np.dtype():
            return from_dtype(layout)
        case _:
            raise TypeError(f"{layout} has no type of its own")


class Entry(NamedTuple):
    """A C function of a row of slots; _call.c has its conventions."""

    symbol: str
    code: str  # LLVM's language


def entry(kernel: Declaration, specialization: Specialization) -> Entry:
    """Return the entry that calls a kernel."""
    names: dict[str, Any] = {
        "kernel": dispatcher(kernel),
        "carray": carray,
        "as_strided": np.lib.stride_tricks.as_strided,
        "int64": np.int64,
        "pointer_of": intrinsics.pointer_of,
        "float_of": intrinsics.float_of,
        "bits_of": intrinsics.bits_of,
        "hand_over": intrinsics.hand_over,
    }
    slots = count()
    arguments = [_read(item, slots, names) for item in specialization.arguments.items]
    if next(slots) > SLOTS:
        raise TypeError(f"{kernel.name}: its arguments need more than {SLOTS} slots")
    body = [
        f"s = carray(slots, ({SLOTS},))",
        *(f"a{k} = {argument}" for k, argument in enumerate(arguments)),
        "try:",  # around no more than this: numba takes long to compile what is in it
        f"    r = kernel({', '.join(f'a{k}' for k in range(len(arguments)))})",
        "except Exception:",
        "    return 1",
        *_written(specialization.result, "r", count()),
        "return 0",
    ]
    return _compiled(body, names)


def give_back() -> Entry:
    """Return the entry that gives an array's memory back, whose handle is in its first slot."""
    names = {"take_back": intrinsics.take_back, "carray": carray}
    return _compiled(["take_back(carray(slots, (1,))[0])", "return 0"], names)


def _compiled(body: list[str], names: dict[str, Any]) -> Entry:
    """Return the entry that has this body; `names` has what that names."""
    exec("\n    ".join(["def entry(slots):", *body]), names)
    function = cfunc(types.int32(types.CPointer(types.int64)), **_OPTIONS)(names["entry"])
    return Entry(function.native_name, function.inspect_llvm())


def _read(layout: Layout, slots: Iterator[int], names: dict[str, Any]) -> str:
    """Return the expression that makes an argument of slots; what it names is added to `names`."""
    if isinstance(layout, Tuple):
        items = "".join(f"{_read(item, slots, names)}, " for item in layout.items)
        if layout.kind is tuple:
            return f"({items})"
        names[layout.kind.__name__] = layout.kind
        return f"{layout.kind.__name__}({items})"
    k = next(slots)
    if isinstance(layout, Array):
        names[f"dtype{k}"] = layout.dtype
        shape, strides = (
            "".join(f"s[{next(slots)}], " for _ in range(layout.ndim * n)) for n in (1, layout.is_strided)
        )
        array = f"carray(pointer_of(s[{k}]), ({shape}), dtype{k})"
        return f"as_strided({array}, ({shape}), ({strides}))" if layout.is_strided else array
    if not isinstance(layout, np.dtype):
        raise TypeError(f"{layout} cannot be passed from Python")
    if layout.kind == "b":
        return f"s[{k}] != 0"
    names[layout.name] = layout.type
    return f"{layout.name}({f'float_of(s[{k}])' if layout.kind == 'f' else f's[{k}]'})"


def _written(layout: Layout, value: str, slots: Iterator[int]) -> list[str]:
    """Return the statements that put a result in slots."""
    if layout is None:
        return []
    if isinstance(layout, Tuple):
        return [
            line for k, item in enumerate(layout.items) for line in _written(item, f"{value}[{k}]", slots)
        ]  # fmt: skip
    k = next(slots)
    if isinstance(layout, Array):
        return [
            f"s[{k}] = hand_over({value})",
            f"s[{next(slots)}] = {value}.ctypes.data",
            *(f"s[{next(slots)}] = {value}.shape[{axis}]" for axis in range(layout.ndim)),
        ]
    if not isinstance(layout, np.dtype):
        raise TypeError(f"{layout} cannot be returned to Python")
    return [f"s[{k}] = bits_of({value})" if layout.kind == "f" else f"s[{k}] = int64({value})"]
