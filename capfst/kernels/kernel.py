"""A kernel as Python calls it, and the decorators that make kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, ParamSpec, TypeVar

from capfst.kernels import _call, library
from capfst.kernels.declaration import Declaration
from capfst.kernels.types import mismatch

P = ParamSpec("P")
R = TypeVar("R")

_lock = threading.RLock()


class Kernel(Declaration, Generic[P, R]):
    """A function that runs as machine code."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        for entry in self._entries:
            result: Any = _call.call(entry, args)
            if result is NotImplemented:
                continue
            if result is not ...:
                return result
            if self.allocates:
                raise MemoryError(f"{self.name}: no memory for its arrays")
            raise IndexError(f"{self.name}: an index is out of range")
        reasons = [mismatch(types.arguments, args) for types in self.specializations()]
        raise TypeError(f"{self.name}: {'it takes no keywords' if kwargs else ', or '.join(reasons)}")

    @cached_property
    def _entries(self) -> list[tuple[Any, ...]]:
        """What _call.c has to know of each specialization."""
        with _lock:
            found = []
            for types in self.specializations():
                address, give_back = library.addresses(self, types)
                found.append((address, types.arguments, types.result, give_back))
            return found


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
    """As `inner`, for one that makes arrays."""
    return Kernel(function, allocates=True, is_entry=False)


def inlined(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel that only kernels call, as code of their own: for small ones that take large tuples."""
    return Kernel(function, is_entry=False, is_inlined=True)
