"""A kernel as Python calls it, and the decorators that make kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Generic, ParamSpec, TypeVar

from capfst.kernels import _call, library
from capfst.kernels.declaration import Declaration
from capfst.kernels.types import Leaf, hints, items, leaves

P = ParamSpec("P")
R = TypeVar("R")

_lock = threading.RLock()


class Kernel(Declaration, Generic[P, R]):
    """A function that runs as machine code."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        result: Any = _call.call(self._entry, args)
        if result is NotImplemented or kwargs:
            raise TypeError(f"{self.name}: {'it takes no keywords' if kwargs else self._mismatch(args)}")
        return result

    @cached_property
    def _leaves(self) -> tuple[Leaf, ...]:
        parameters = list(hints(self.py_func).items())[:-1]
        return tuple(leaf for name, hint in parameters for leaf in leaves(hint, name))

    @cached_property
    def _entry(self) -> tuple[Any, ...]:
        """What _call.c has to know of the kernel."""
        with _lock:
            result = hints(self.py_func)["return"]
            results = () if result is type(None) else tuple(leaves(result))
            types = self._leaves, results, items(result) is not None
            return (*library.addresses(self), *types, MemoryError if self.allocates else IndexError, self.name)

    def _mismatch(self, args: tuple[Any, ...]) -> str:
        """Return which of the arguments the kernel cannot be called with."""
        given = list(_flat(args))
        for leaf, value in zip(self._leaves, given, strict=False):
            if not _call.fits(leaf, value):
                shape = f" of {value.dtype}, {value.ndim}-dimensional" if hasattr(value, "dtype") else f" {value!r}"
                return f"{leaf.name} must be {leaf}, not {type(value).__name__}{shape}"
        return f"it takes {len(self._leaves)} numbers and arrays, not {len(given)}"


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
