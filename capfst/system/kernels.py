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

from capfst.system import kernel_cache, machine_code
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
        self._entries: dict[tuple[Any, ...], Entry] = {}
        self._functions: dict[tuple[Any, ...], Any] = {}

    def __call__(self, *args: Any) -> Any:
        for entry in self._entries.values():
            result = entry(args)
            if result is not NotImplemented:
                return result
        loaded = self._load(args) if self.options else None  # without options it allocates
        return loaded(args) if loaded else self.dispatcher(*args)

    def _load(self, args: tuple[Any, ...]) -> Entry | None:
        """The machine code for arguments of these types; None if it returns what only numba can make of it."""
        types: list[Any] = []
        expected: list[Any] = [NotImplemented]
        for value in args:
            _add_types(value, types, expected)
        key = tuple(types)
        with _lock:
            if key not in self._functions:
                data = kernel_cache.load(self.py_func, key)
                if data is None:
                    data = self.dispatcher.compile_entry(args, kernel_cache.name(self.py_func, key))
                    kernel_cache.save(self.py_func, key, data)
                self._functions[key] = machine_code.load(data)
            if self._functions[key] is None:
                return None
            # Equal dtypes may be different objects; those of the last call are expected.
            entry = Entry(self._functions[key], tuple(expected))
            self._entries = {**self._entries, key: entry}  # other threads may go through the former
            return entry

    @cached_property
    def dispatcher(self) -> Any:
        """What numba knows the kernel by."""
        from capfst.system.compiling import Dispatcher  # noqa: PLC0415  (see above)

        return Dispatcher(self)

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_


def _add_types(value: Any, types: list[Any], expected: list[Any]) -> None:
    """Appends what a kernel is compiled for, of one argument, and what its function expects of it (entry.py)."""
    kind = type(value)
    types.append(kind)
    expected.append(kind)
    if kind is np.ndarray:
        types += (value.dtype, value.ndim, value.flags.num & (C_CONTIGUOUS | ALIGNED))
        expected.append(value.dtype)
    elif isinstance(value, tuple):
        types.append(len(value))
        for item in value:
            _add_types(item, types, expected)
    elif not isinstance(value, (int, float, np.generic)):
        raise TypeError(f"kernels take arrays, numbers and tuples of them, not {kind.__name__}")


C_CONTIGUOUS, ALIGNED = 0x001, 0x100
"""What the flags of arrays say (NPY_ARRAY_…)."""


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


prefetch, get_eight, put_eight, count_ones, copy_bytes, part, release, acquire = map(
    _Intrinsic,
    ("prefetch", "get_eight", "put_eight", "count_ones", "copy_bytes", "part", "release", "acquire"),
)
