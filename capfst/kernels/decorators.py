"""A kernel as Python calls it, and the decorators that make kernels."""

from __future__ import annotations

import reprlib
import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from capfst.kernels import _call, library
from capfst.kernels.declaration import Declaration
from capfst.kernels.types import Leaf, hints, items, leaves

P = ParamSpec("P")
R = TypeVar("R")

_lock = threading.RLock()
_LEAVES = 2  # in an entry: see _call.c


class Kernel(Declaration, Generic[P, R]):
    """A function that runs as machine code."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            raise TypeError(f"{self.name}: it takes no keywords")
        result: Any = _call.call(self._entry, args)
        if result is NotImplemented:
            raise TypeError(f"{self.name}: {_mismatch(self._entry[_LEAVES], args)}")
        return result

    @cached_property
    def _entry(self) -> tuple[Any, ...]:
        """The description of the kernel that _call.c reads."""
        with _lock:
            *parameters, (_, result) = hints(self.py_func).items()
            arguments = tuple(leaf for name, hint in parameters for leaf in leaves(hint, name))
            results = () if result is type(None) else tuple(leaves(result))
            types = arguments, results, items(result) is not None
            return (*library.addresses(self), *types, MemoryError if self.allocates else IndexError, self.name)


def _mismatch(expected: tuple[Leaf, ...], args: tuple[Any, ...]) -> str:
    """Describe the first argument that a kernel cannot be called with."""
    given = list(_flat(args))
    for leaf, value in zip(expected, given, strict=False):
        if not _call.fits(leaf, value):
            return f"{leaf.name} must be {leaf}, not {_described(value)}"
    return f"it takes {len(expected)} numbers and arrays, not {len(given)}"


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        contiguous = "a contiguous array" if value.flags.c_contiguous else "an array with gaps"
        return f"{contiguous} of {value.dtype}, {value.ndim}-dimensional"
    return f"{type(value).__name__} {reprlib.repr(value)}"


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel that Python calls, and that makes no arrays."""
    return Kernel(function)


def allocating(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel that Python calls, and that makes arrays."""
    return Kernel(function, allocates=True)


def inner(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel that only kernels call."""
    return Kernel(function, is_entry=False)


def inner_allocating(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel that only kernels call, and that makes arrays."""
    return Kernel(function, is_entry=False, allocates=True)


def inlined(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel that only kernels call, as code of their own: for small ones that take large tuples."""
    return Kernel(function, is_entry=False, is_inlined=True)


def outlined(kernel: Kernel[P, R]) -> Kernel[P, R]:
    """Keep the code of a kernel out of its callers': for what is seldom run."""
    kernel.is_inlined = False
    return kernel
