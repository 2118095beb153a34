"""From annotations to numba: kernels as its dispatchers, and their entries as C functions of a row of slots.

Used where machine code is made: by the build (build.py), and by calls of kernels that the library does not have, or has
of older sources. Only numba's public decorators compile: `njit` what kernels call, `cfunc` what Python calls. One
function of numba's is replaced (see `_index`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
from numba import carray, cfunc, njit, types
from numba.core.types import BaseTuple
from numba.extending import typeof_impl
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype

from capfst.kernels import intrinsics
from capfst.kernels.declaration import Declaration, Specialization
from capfst.kernels.types import Array, Layout, Record, Tuple, layouts

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


def address(kernel: Declaration, specialization: Specialization) -> int:
    """Return the address of a kernel's entry, compiled now or kept from an earlier process."""
    return int(entry(kernel, specialization).address)


@lru_cache(1)
def give_back_address() -> int:
    """Return the address of `give_back`."""
    return int(give_back().address)


@lru_cache(None)
def entry(kernel: Declaration, specialization: Specialization) -> Any:
    """Return the C function that calls a kernel (numba's CFunc); _call.c has its conventions."""
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
    return _compiled(specialization.name, body, names, kernel.py_func.__code__.co_filename)


@lru_cache(1)
def give_back() -> Any:
    """Return the C function that gives an array's memory back, whose handle is in its first slot."""
    names = {"take_back": intrinsics.take_back, "carray": carray}
    return _compiled("give_back", ["take_back(carray(slots, (1,))[0])", "return 0"], names, __file__)


def _compiled(name: str, body: list[str], names: dict[str, Any], file: str) -> Any:
    """Return a C function of a row of slots; what its body names is in `names`."""
    source = "\n    ".join([f"def {name}(slots):", *body])
    exec(compile(source, file, "exec"), names)  # numba keeps it under the name of this file
    return cfunc(types.int32(types.CPointer(types.int64)), **_OPTIONS)(names[name])


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
