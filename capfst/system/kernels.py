"""Kernels: functions over arrays that become machine code, each when it is first called with arguments of its types.

In: Python functions, and what Python calls them with. A call looks for machine code in this process, in the kernels
kept on the disk (kernel_cache.py, loaded by machine_code.py), and only then compiles (compiling.py). Only that needs
numba, whose import takes longer than all else that a short command does.

Named tuples of arrays and numbers are arguments, too. What kernels ask of memory beyond numpy's indexing is in
intrinsics.py; here are its names.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from capfst.system import kernel_cache
from capfst.system.machine_code import Entry

_lock = threading.RLock()


class Kernel:
    """A function that is compiled for the types of its arguments.

    Args:
        options: numba's, less those that all kernels have.
        signature: the only types of its arguments, to which calls convert what they pass.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], signature: str | None = None) -> None:
        self.py_func = function
        self.options, self.signature = options, signature
        self._entries: dict[tuple[Any, ...], Entry | None] = {}

    def __call__(self, *args: Any) -> Any:
        if self.options:  # it allocates nothing
            types: list[Any] = []
            cells: list[Any] = []
            _take_apart(args, types, cells)
            key = tuple(types)
            entry = self._entries[key] if key in self._entries else self._load(key, args)
            if entry:
                return entry(cells)
        return self.dispatcher(*args)

    def _load(self, key: tuple[Any, ...], args: tuple[Any, ...]) -> Entry | None:
        """The machine code for arguments of these types; None if it returns what only numba can make of it."""
        with _lock:
            if key not in self._entries:
                data = kernel_cache.load(self.py_func, key)
                if data is None:
                    data = self.dispatcher.compile_entry(args, kernel_cache.name(self.py_func, key))
                    kernel_cache.save(self.py_func, key, data)
                self._entries[key] = Entry.of(data)
            return self._entries[key]

    @cached_property
    def dispatcher(self) -> Any:
        """What numba knows the kernel by."""
        from capfst.system.compiling import Dispatcher  # noqa: PLC0415  (see above)

        return Dispatcher(self)

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_


def _take_apart(values: tuple[Any, ...], types: list[Any], cells: list[Any]) -> None:
    """Appends the types of arguments, and the numbers that machine code takes for them (compiling.py): of an array,
    where the object is."""
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            types += (value.dtype, value.ndim, value.flags.num & _LAYOUT)
            cells.append(id(value))
        elif kind is int or kind is float or kind is bool:
            types.append(kind)
            cells.append(value)
        elif isinstance(value, tuple):
            types += (kind, len(value))
            _take_apart(value, types, cells)
        elif isinstance(value, np.generic):
            types.append(kind)
            cells.append(value.item())
        elif isinstance(value, int):  # of an enumeration
            types.append(int)
            cells.append(int(value))
        else:
            raise TypeError(f"kernels take arrays, numbers and tuples of them, not {kind.__name__}")


_LAYOUT = 0x001 | 0x100
"""NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_ALIGNED"""


def allocating(function: Callable[..., Any]) -> Kernel:
    """For kernels that make arrays, which numba calls."""
    return Kernel(function, {})


def kernel(function: Callable[..., Any]) -> Kernel:
    """For kernels that allocate nothing: references to their arguments are not counted, which would be atomic."""
    return Kernel(function, {"_nrt": False})


def inlined(function: Callable[..., Any]) -> Kernel:
    """For small hot kernels that take whole named tuples: as code of their callers, they need not be passed every
    array."""
    return Kernel(function, {"_nrt": False, "forceinline": True})


def outlined(function: Callable[..., Any]) -> Kernel:
    """For what is seldom run, but called at many places: it stays a function of its own."""
    function.outlined = True  # type: ignore[attr-defined]
    return kernel(function)


def compiled_for(signature: str) -> Callable[[Callable[..., Any]], Kernel]:
    """As `kernel`, for these types only, to which calls in kernels convert their arguments."""
    return lambda function: Kernel(function, {"_nrt": False}, signature)


class _Intrinsic:
    """A function of intrinsics.py, which kernels call by this name."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def _numba_type_(self) -> Any:
        from capfst.system.compiling import type_of_intrinsic  # noqa: PLC0415  (see above)

        return type_of_intrinsic(self._name)


prefetch, get_eight, put_eight, count_ones, copy_bytes, part = map(
    _Intrinsic, ("prefetch", "get_eight", "put_eight", "count_ones", "copy_bytes", "part")
)
