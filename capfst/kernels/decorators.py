"""Kernels that Python calls, and the decorators that turn functions into kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from capfst.forks import cached
from capfst.kernels import _call, library
from capfst.kernels.function import OUTLINED, KernelFunction, P, R
from capfst.kernels.types import fields, hints, leaves


class Kernel(KernelFunction[P, R]):
    """A function that runs as machine code."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            raise TypeError(f"{self.name} takes no keyword arguments")
        result: Any = _call.call(self._entry, args)
        return result

    @cached
    def _entry(self) -> tuple[Any, ...]:
        """The description of the kernel that _call.c reads."""
        *parameters, (_, result) = hints(self.py_func).items()
        results = () if result is type(None) else tuple(leaves({"": result}))
        types = tuple(leaves(dict(parameters))), results, fields(result) is not None
        return (*library.addresses(self), *types, MemoryError if self.allocates else IndexError, self.name)


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel that Python and kernels call."""
    return Kernel(function)


def allocating(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel that Python and kernels call, and that creates arrays."""
    return Kernel(function, allocates=True)


def inner(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel that only kernels call."""
    return Kernel(function, is_entry=False)


def inner_allocating(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel that only kernels call, and that creates arrays."""
    return Kernel(function, is_entry=False, allocates=True)


def inlined(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel that is copied into the kernels that call it: for small ones that take large tuples."""
    return Kernel(function, is_entry=False, is_inlined=True)


def outlined(kernel: Kernel[P, R]) -> Kernel[P, R]:
    """Keep the code of a kernel out of its callers: for code that seldom runs."""
    kernel.is_inlined = False
    kernel.py_func.__qualname__ += OUTLINED
    return kernel
