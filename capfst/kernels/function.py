"""Kernels: functions that run as machine code, and the decorators that turn functions into kernels."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import EnumMeta
from functools import partial
from types import FunctionType, GenericAlias, ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from capfst.forks import cached
from capfst.kernels import _call, library
from capfst.kernels.types import fields, hints, leaves

P = ParamSpec("P")
R = TypeVar("R")

OUTLINED = "_outlined"
"""The end of the names of functions that LLVM must not inline."""


class Kernel(Generic[P, R]):
    """A function that runs as machine code; `py_func` is the Python function.

    Args:
        allocates: whether it creates arrays.
        is_entry: whether Python calls it.
        is_inlined: whether its code is copied into its callers; None: LLVM decides.
    """

    def __init__(
        self,
        function: Callable[P, R],
        *,
        allocates: bool = False,
        is_entry: bool = True,
        is_inlined: bool | None = None,
    ) -> None:
        self.py_func, self.__doc__ = function, function.__doc__
        self.allocates, self.is_entry, self.is_inlined = allocates, is_entry, is_inlined
        self.name = f"{function.__module__.removeprefix('capfst.')}.{function.__qualname__}"
        self.symbol = re.sub(r"\W", "_", self.name)

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

    @cached
    def digest(self) -> str:
        """A hash of all that determines the machine code: bytecode, types, constants, and the kernels that are called.

        Comments and docstrings do not change it; another version of Python does.
        """
        import hashlib  # noqa: PLC0415  (it takes its time to load)

        reached: list[Kernel[..., Any]] = [self]
        for kernel in reached:  # which grows meanwhile
            called = [value for value in kernel._globals().values() if isinstance(value, Kernel)]
            reached += [callee for callee in called if callee not in reached]
        return hashlib.blake2b(repr([kernel._content() for kernel in reached]).encode(), digest_size=16).hexdigest()

    def _globals(self) -> dict[str, Any]:
        """Return the global values that the function names, and those of the package's modules that it names."""
        known, names = self.py_func.__globals__, sorted(self.py_func.__code__.co_names)
        found = {name: known[name] for name in names if name in known}
        for module in [value for value in found.values() if isinstance(value, ModuleType)]:
            if module.__name__.startswith("capfst."):
                found |= {f"{module.__name__}.{name}": vars(module)[name] for name in names if name in vars(module)}
        return found

    def _content(self) -> list[Any]:
        """Return everything that determines the machine code, except the code of other kernels."""
        code, types = self.py_func.__code__, [_described(hint) for hint in hints(self.py_func).values()]
        constants = [constant for constant in code.co_consts if constant != self.__doc__]
        named = [(name, _described(value)) for name, value in self._globals().items()]
        return [self.name, self.allocates, self.is_inlined, types, code.co_code, constants, code.co_names, named]


def _described(value: Any) -> Any:
    """Return a value whose repr describes completely a type, or a value that a kernel names."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, tuple):
        return [_described(item) for item in value]
    if isinstance(value, EnumMeta):
        return list(value)
    if isinstance(value, (type, GenericAlias)) and (parts := fields(value)) is not None:
        return value, [_described(part) for part in parts.values()]
    is_function = isinstance(value, (Kernel, FunctionType)) or hasattr(value, "__wrapped__")  # the latter: a cached one
    return None if is_function or isinstance(value, ModuleType) else value


kernel = Kernel
"""Make a kernel that Python and kernels call."""
allocating = partial(Kernel, allocates=True)
"""Make a kernel that Python and kernels call, and that creates arrays."""
inner = partial(Kernel, is_entry=False)
"""Make a kernel that only kernels call."""
inner_allocating = partial(Kernel, is_entry=False, allocates=True)
"""Make a kernel that only kernels call, and that creates arrays."""
inlined = partial(Kernel, is_entry=False, is_inlined=True)
"""Make a kernel that is copied into the kernels that call it: for small ones that take large tuples."""


def outlined(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a kernel whose code stays out of its callers': for code that seldom runs. Only kernels call it, unless it is
    already a kernel that Python calls."""
    kernel = function if isinstance(function, Kernel) else inner(function)
    kernel.is_inlined = False
    kernel.py_func.__qualname__ += OUTLINED
    return kernel
